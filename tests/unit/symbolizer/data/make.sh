#!/bin/sh
# Makes the libraries of this directory and binutils' answers for every address of their code.
# Made with g++ 12.2, rustc 1.95 (v0 names), binutils 2.40 (addr2line -i -f), x86-64.
set -eu
cd "$(dirname "$0")"
flags="-O2 -g -shared -fPIC -nostdlib -fno-asynchronous-unwind-tables -Wl,--build-id=sha1"
map="-fdebug-prefix-map=$PWD=/src -ffile-prefix-map=$PWD=/src"
g++ $flags $map inlines.cpp -o inlines.so
g++ $flags $map -flto inlines.cpp -o lto.so
rustc --edition 2021 --crate-type cdylib -O -g -C panic=abort -C symbol-mangling-version=v0 \
    --remap-path-prefix "$PWD=/src" --remap-path-prefix "$HOME=/home" \
    -C link-arg=-nostdlib -C link-arg=-Wl,--build-id=sha1 -C relocation-model=pic inlines.rs -o rust.so
objcopy --only-keep-debug inlines.so split.so.debug
objcopy --strip-all --add-gnu-debuglink=split.so.debug inlines.so split.so
for library in inlines lto rust; do
    objdump -d -j .text $library.so | sed -n 's/^ *\([0-9a-f]*\):.*/\1/p' >$library.addresses
    addr2line -i -f -a -e $library.so <$library.addresses >$library.addr2line.txt
    rm $library.addresses
done
