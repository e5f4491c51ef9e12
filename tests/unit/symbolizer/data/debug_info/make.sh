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

# split debug info; the answers are those for the same code without -gsplit-dwarf (binutils 2.40 loses inlined
# functions of clang's DWARF 5: LLVM's tool is asked about clang's)
addresses() { objdump -d -j .text "$1" | sed -n 's/^ *\([0-9a-f]*\):.*/0x\1/p'; }
link="-shared -nostdlib -Wl,--build-id=sha1 -Wl,-z,noseparate-code"
flags="-O2 -g -fPIC -fno-asynchronous-unwind-tables -fcf-protection=none"
split() { # name, who is asked, compiler and its flags
    name=$1 ask=$2
    shift 2
    for unit in one two; do
        "$@" $flags $map -gsplit-dwarf -c $unit.cpp -o ${name}_$unit.o
        "$@" $flags $map -c $unit.cpp -o whole_$unit.o
    done
    gcc $link ${name}_one.o ${name}_two.o -o $name.so
    gcc $link whole_one.o whole_two.o -o whole.so
    for file in $name whole; do objcopy -O binary -j .text $file.so $file.text; done
    cmp $name.text whole.text
    addresses whole.so | $ask -i -f -a -e whole.so >$name.addr2line.txt
    rm -- *.o *.text whole.so
}
g++ $flags $map $link scopes.cpp -o scopes.so

split gnu4 addr2line g++ -gdwarf-4
split gnu5 addr2line g++ -gdwarf-5
dwp -o gnu4.so.dwp gnu4_one.dwo gnu4_two.dwo
map="-ffile-prefix-map=$PWD=/src"
split clang4 llvm-addr2line clang++-14 -gdwarf-4
split clang5 llvm-addr2line clang++-14 -gdwarf-5
for name in clang4 clang5; do
    llvm-dwp ${name}_one.dwo ${name}_two.dwo -o $name.so.dwp
    rm ${name}_one.dwo ${name}_two.dwo
done

# two libraries whose common debug info dwz moved to a third file
for name in dwz_one dwz_two; do g++ $flags $map $link one.cpp two.cpp -Wl,-soname,$name -o $name.so; done
addresses dwz_one.so | addr2line -i -f -a -e dwz_one.so >dwz_one.addr2line.txt
dwz -m common.dwz -M common.dwz dwz_one.so dwz_two.so
rm dwz_two.so

# compiled in a directory that debug info states as a relative one, as Debian's packages are
g++ $flags -gdwarf-5 -ffile-prefix-map="$PWD=./part" -gno-record-gcc-switches $link two.cpp -o relative.so
