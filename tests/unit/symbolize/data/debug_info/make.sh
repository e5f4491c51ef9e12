#!/bin/sh
# Makes the files of this directory and binutils' answers for every address of their code.
# Made with gcc 12.2, binutils 2.40 (addr2line -i -f), dwz 0.15, clang 14, x86-64.
set -eu
cd "$(dirname "$0")"
map="-ffile-prefix-map=$PWD=/src -gno-record-gcc-switches"

# a kernel module: two units, relocations left to whoever loads it
gcc -O2 -g -c $map -fno-pic -mcmodel=kernel -fno-asynchronous-unwind-tables -fcf-protection=none module.c -o a.o
gcc -O2 -g -c $map -fno-pic -mcmodel=kernel -fno-asynchronous-unwind-tables -fcf-protection=none module_flush.c -o b.o
ld -r --build-id=sha1 a.o b.o -o module.ko
for section in .text .text.unlikely .init.text; do
    objdump -d -j $section module.ko | sed -n 's/^ *\([0-9a-f]*\):.*/0x\1/p' |
        addr2line -e module.ko -j $section -i -f -a | sed "s/^0x/$section 0x/"
done >module.addr2line.txt
rm a.o b.o
