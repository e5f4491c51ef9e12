#!/bin/sh
# Makes the programs of this directory, the branches that they take, and what LLVM's tools make of recordings of them.
# Made with clang and LLVM 21.1.8, gcc 16, binutils 2.47, perf 7.2, x86-64. Run it where perf2x's tests run.
set -eu
cd "$(dirname "$0")"
root=$(cd ../../../../..; pwd)
flags="-g -fno-asynchronous-unwind-tables -nostdlib -static -Wl,--build-id=sha1 -ffile-prefix-map=$PWD=/src"
clang -O1 $flags -fdebug-info-for-profiling -gno-column-info -o hot-clang hot.c
gcc -O2 $flags -fno-stack-protector -fcf-protection=none -o hot-gcc hot.c
cc -O2 -o trace trace.c
for name in hot-clang hot-gcc; do
    objdump -d -w --no-show-raw-insn $name >asm
    ./trace ./$name | python3 taken.py asm >$name.taken
    (cd "$root" && python3 -m tests.support.traced_program $name) >perf.data
    llvm-profgen --perfdata=perf.data --binary=$name --format=text --output=$name.afdo
    perf2bolt -p perf.data -o $name.fdata $name
    sort -o $name.fdata $name.fdata
done
rm trace asm perf.data
