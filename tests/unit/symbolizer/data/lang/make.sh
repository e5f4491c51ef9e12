#!/bin/sh
# Builds the programs in /srv/demo and records them there; needs root, perf, gcc, g++, rustc, go, node and java.
# Made with gcc 12.2, rustc 1.95, go 1.19, node 20, OpenJDK 17, perf 6.1 (record, inject) on Linux 6.18.
# Then, for every NAME: perf 7.2 script --no-inline -i NAME/perf.data --symfs SYMFS | xz > NAME/script.txt.xz, where SYMFS
# holds srv/demo alone; for jit: perf 6.1 inject --jit, then script --no-inline.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p /srv/demo && cd /srv/demo
flags="-O2 -g1 -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -Wl,--build-id=sha1"
gcc $flags "$here/c.c" -o c
g++ $flags "$here/cpp.cpp" -o cpp
gcc $flags "$here/python.c" -o python
gcc $flags "$here/jit.c" -o jit
rustc -C opt-level=z -C lto -C panic=abort -C strip=debuginfo -C codegen-units=1 -C force-frame-pointers=yes \
    -C link-arg=-Wl,--build-id=sha1 "$here/rust.rs" -o rust
cp "$here/go.go" main.go && go build -ldflags='-w' -gcflags=-l -o go main.go
cp "$here/node.js" node.js && javac -d . "$here/java.java"
rate=499
record() {
    name=$1 && shift && mkdir -p "$here/$name"
    perf record -q -k 1 -g -e cpu-clock -F $rate -o perf.data "$@" >/dev/null
    mv perf.data "$here/$name/"
}
for name in c cpp rust go python jit; do record $name /srv/demo/$name; done
record node node --perf-basic-prof-only-functions --interpreted-frames-native-stack node.js
record java java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:+PreserveFramePointer \
    -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit -cp . java
for name in python node java; do
    pid=$(perf script -i "$here/$name/perf.data" -F pid 2>/dev/null | sort | uniq -c | sort -rn | awk 'NR==1 {print $2}')
    cp "/tmp/perf-$pid.map" "$here/$name/"
done
cp jit-*.dump "$here/jit/" && rm jit-*.dump
go build -ldflags=-s -gcflags=-l -o go-s main.go # the same code; of it, all but headers and .gopclntab was zeroed
xz -9e -c go-s >"$here/go/stripped.xz"
objcopy --only-keep-debug go go.symbols && mv go.symbols go # smaller, and a file without code is a case of its own
# the runtimes of test_runtimes.py, with perf 7.2; cpython.py lies in /srv/demo, python is Debian's 3.14
export PERF="${PERF:-perf}" && user="-q -k mono -g -e cpu-clock:u"
$PERF record $user -F 399 -o cpython_map.data -- python3.14 -X perf "$here/cpython.py" 0.6
$PERF record $user -F 399 -o cpython_jit.data -- python3.14 -X perf_jit "$here/cpython.py" 0.6
$PERF record $user -F 199 -o node_jit.data -- node --perf-prof --interpreted-frames-native-stack node.js
$PERF record $user -F 149 --namespaces -o container.data -- unshare -pmf --mount-proc \
    node --perf-basic-prof-only-functions --interpreted-frames-native-stack node.js
# of jit-*.dump the code's bytes were zeroed; perf script was asked after perf inject --jit, of the container with
# /tmp/perf-1.map renamed to the process's outer id
for name in c cpp rust go python jit; do xz -9e -c $name >"$here/$name/$name.xz"; done
