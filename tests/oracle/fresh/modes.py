"""Ways to record a program: for each a line of shell, run in a folder of its own, that leaves perf.data*.

$PERF is the command, $EVENT the processor's cycles or the clock where a machine has no counters; programs of
``programs.py`` are in PATH. A mode that this machine cannot record is skipped, with what perf said.
"""

RECORD = "$PERF record -q -o perf.data"
PLAIN = f"{RECORD} -e $EVENT -F 1999"
STACKS = f"{PLAIN} -g"
DUMPS = f"{PLAIN} --call-graph dwarf"
EVERYWHERE = f"{RECORD} -a -e $EVENT -F 1999 -g"

SUMS = "sh -c 'for i in 1 2 3 4; do md5sum big; done'"
PYTHON = "$PYTHON -c 'import json\nfor i in range(60): json.loads(json.dumps({str(n): [n] * 9 for n in range(999)}))'"
LOAD = "sh -c 'busy spin .5 & busy forks 40 & ls -R /usr/share >/dev/null; wait'"
GROUP = "$EVENT,page-faults,context-switches"

MODES: dict[str, str] = {
    # programs
    "plain": f"{STACKS} -- {SUMS}",
    "flat": f"{PLAIN} -- {PYTHON}",
    "python": f"{STACKS} -- {PYTHON}",
    "perl": f"{STACKS} -- perl -e 'for (1..40) {{ my %h; $h{{$_ % 99}} .= $_ for 1..9999 }}'",
    "node with a perf map": f"{STACKS} -- node --perf-basic-prof --interpreted-frames-native-stack -e "
    "'function f(n) {{ return n < 2 ? n : f(n - 1) + f(n - 2) }} f(31)'",
    "compiler": f"{STACKS} -- cc -O2 -c input.c",
    "short processes": f"{STACKS} -- sh -c 'for i in 1 2 3 4 5 6 7 8 9; do ls /usr/bin | sort -r | head -3; done'",
    "fork storm": f"{STACKS} -- busy forks 300",
    "thousand threads": f"{STACKS} -- busy threads 1000",
    "execs": f"{STACKS} -- busy execs 20",
    "renamed threads": f"{STACKS} -- busy renames",
    "code with a perf map": f"{STACKS} -- busy compiled",
    "signal handlers": f"{STACKS} -- busy signals",
    "program in memory": f"{STACKS} -- busy memfd",
    "deleted program": f"cp $(command -v busy) gone; {STACKS} -- sh -c '(sleep .2; rm gone) & exec ./gone spin .6'",
    "position-dependent program": f"{STACKS} -- busy-no-pie spin",
    "static program": f"{STACKS} -- busy-static spin",
    "stripped program": f"{STACKS} -- busy-stripped spin",
    "program without build id": f"{STACKS} -- busy-no-id spin",
    "program without frame pointers": f"{STACKS} -- busy-optimized spin",
    "32-bit program": f"{STACKS} -- busy-32",
    # stacks
    "dwarf": f"{DUMPS} -- busy-optimized spin",
    "dwarf, short copies": f"{DUMPS},512 -- busy spin",
    "dwarf, long copies": f"{RECORD} -e $EVENT -F 499 --call-graph dwarf,65528 -- busy spin",
    "dwarf, processes": f"{DUMPS},4096 -- busy forks 30",
    "dwarf, signal handlers": f"{DUMPS} -- busy-optimized signals",
    "user stacks only": f"{STACKS} --user-callchains -- {PYTHON}",
    "kernel stacks only": f"{STACKS} --kernel-callchains -- busy spin",
    "user mode": f"{RECORD} -e $EVENT:u -F 1999 -g -- {PYTHON}",
    "kernel mode": f"{RECORD} -e $EVENT:k -F 1999 -g -- {SUMS}",
    "all events of user mode": f"{STACKS} --all-user -- busy spin",
    "all events of the kernel": f"{STACKS} --all-kernel -- busy faults",
    # containers
    "zstd": f"{STACKS} -z -- {PYTHON}",
    "zstd, above 8 MiB": f"{RECORD} -e $EVENT -F 2999 -z -m 8 --call-graph dwarf,4096 -- busy noise 1.6",
    "zstd, level 19": f"{STACKS} -z19 -- busy forks 100",
    "zstd, all CPUs": f"{EVERYWHERE} -z -- {LOAD}",
    "pipe": "$PERF record -q -o - -e $EVENT -F 1999 -g -- busy forks 60 >perf.data",
    "pipe, zstd": "$PERF record -q -o - -e $EVENT -F 1999 -g -z -- busy threads 60 >perf.data",
    "pipe, zstd, above 8 MiB": "$PERF record -q -o - -e $EVENT -F 2999 -z -m 8 --call-graph dwarf,4096 "
    "-- busy noise 1.6 >perf.data",
    "pipe, several events": f"$PERF record -q -o - -e {GROUP} -c 9000 -g -- busy faults .3 >perf.data",
    "threads of perf": f"{EVERYWHERE} --threads -- {LOAD}",
    "threads of perf, zstd": f"{EVERYWHERE} --threads=cpu -z -- {LOAD}",
    "files by size": f"{STACKS} --switch-output=1M -- busy execs 50",
    "files by time": f"{EVERYWHERE} --switch-output=1s -- busy spin 2.2",
    "overwritten buffer": f"{RECORD} -m 16 -e $EVENT -F 4999 -g --overwrite -- busy spin",
    "side-band at the end": f"{STACKS} --tail-synthesize -- busy forks 60",
    "size limit": f"{STACKS} --max-size=300K -- busy spin 1",
    "asynchronous writes": f"{STACKS} --aio -- busy spin",
    "killed perf": f"{STACKS} -m 2 -- busy spin 1.5 & sleep 1.2; kill -9 $!; sleep .5",
    "killed program": f"{STACKS} -- sh -c 'busy spin 3 & sleep .4; kill -9 $!; kill -9 $$'",
    # losses
    "losses": f"{RECORD} -a -m 1 -e $EVENT -F 20000 -g -- busy forks 300",
    "losses of copied stacks": f"{RECORD} -m 4 -e $EVENT -F 9000 --call-graph dwarf,8192 -- busy noise .3",
    "losses, pipe": "$PERF record -q -o - -m 1 -e $EVENT -F 20000 -g -- busy execs 20 >perf.data",
    # events
    "several events": f"{RECORD} -e {GROUP} -F 1999 -g -- {LOAD}",
    "two events of one name": f"{RECORD} -e $EVENT,$EVENT:u,$EVENT:k -F 999 -g -- {SUMS}",
    "group": f'{RECORD} -e "{{{GROUP}}}" -c 50000 -g -- {LOAD}',
    "group read at once": f'{RECORD} -e "{{{GROUP}}}:S" -c 500000 -g -- busy faults',
    "faults, each one": f"{RECORD} -e page-faults -c 1 -g -- ls",
    "period": f"{RECORD} -e $EVENT -c 700001 -g -- busy spin",
    "periods of every sample": f"{RECORD} -e page-faults -F 4999 -P -- busy faults",
    "tracepoint": f"{RECORD} -e sched:sched_switch -g -- {LOAD}",
    "tracepoints, flat": f"{RECORD} -e 'sched:*exec*,sched:*fork*,sched:*exit*' -- busy forks 40",
    "tracepoint and clock": f"{RECORD} -e sched:sched_switch,$EVENT -g -- busy threads 60",
    "tracepoint with a filter": f"{RECORD} -e syscalls:sys_enter_read --filter 'count > 100' -g -- busy spin .1",
    "system calls": f"{RECORD} -e 'syscalls:sys_*_openat,syscalls:sys_*_execve' -- {LOAD}",
    "uprobe": f"$PERF probe -q -x $(command -v busy) fresh=reads; {RECORD} -e probe_busy:fresh -g -- busy spin .1; "
    "$PERF probe -q -d probe_busy:fresh",
    "kprobe": f"$PERF probe -q fresh=vfs_read; {RECORD} -e probe:fresh -g -- ls; $PERF probe -q -d probe:fresh",
    # what a sample has
    "addresses": f"{RECORD} -e page-faults,$EVENT -c 9999 -d -g -- busy faults .2",
    "physical addresses": f"{RECORD} -e page-faults -c 99 -d --phys-data -- busy faults .2",
    "page sizes": f"{RECORD} -e page-faults -c 99 -d --data-page-size --code-page-size -- busy faults .2",
    "registers": f"{STACKS} --intr-regs=ip,sp,ax --user-regs=ip,sp -- busy spin",
    "CPU of samples": f"{STACKS} --sample-cpu -- {LOAD}",
    "no time": f"{PLAIN} -i --no-timestamp -- busy spin",
    "identifier": f"{STACKS} --sample-identifier -- busy execs 9",
    "raw": f"{STACKS} -R -d -W -- busy spin",
    "counts of threads": f"{RECORD} -e $EVENT -c 500000 -s -g -- busy threads 40",
    # clocks and time
    "clock mono": f"{STACKS} -k mono -- busy forks 40",
    "clock realtime": f"{STACKS} -k CLOCK_REALTIME -- busy forks 40",
    "clock boottime": f"{STACKS} -k CLOCK_BOOTTIME -T -- busy forks 40",
    "delay": f"{STACKS} -D 200 -- busy forks 200",
    "ranges of time": f"{STACKS} -D 50-150,250-350 -- busy execs 20",
    "boundaries of time": f"{STACKS} --timestamp-boundary -- busy spin",
    # targets
    "all CPUs": f"{EVERYWHERE} -- {LOAD}",
    "one CPU": f"{RECORD} -C 0 -e $EVENT -F 1999 -g -- {LOAD}",
    "context switches": f"{STACKS} --switch-events -- {LOAD}",
    "context switches, all CPUs": f"{EVERYWHERE} --switch-events -- {LOAD}",
    "process": f"busy spin 20 & {STACKS} -p $! -- sleep .5; kill $!",
    "thread": f"busy renames 20 & {STACKS} -t $! -- sleep .5; kill $!",
    "per thread": f"busy wide 30 & sleep .1; {STACKS} --per-thread -p $! -- sleep .4; kill $!",
    "threads of one user": f"busy spin 20 & {STACKS} -u $(id -u) -- sleep .5; kill $!",
    "no inheritance": f"{STACKS} --no-inherit -- sh -c 'busy spin .2; for i in 1 2 3; do :; done'",
    "cgroups": f"{EVERYWHERE} --all-cgroups -- {LOAD}",
    "one cgroup": f"{RECORD} -a -e $EVENT,$EVENT:u -G /,/ -F 999 -g -- {LOAD}",
    "namespaces": f"{STACKS} --namespaces -- unshare -m busy spin .2",
    # side-band
    "build ids of mappings": f"{STACKS} --buildid-mmap -- busy execs 9",
    "build ids of all": f"{STACKS} --buildid-all -- {PYTHON}",
    "no build ids": f"{STACKS} --no-buildid -- {PYTHON}",
    "no synthesis": f"busy spin 20 & {STACKS} --synth=no -p $! -- sleep .4; kill $!",
    "small flushes": f"{STACKS} -m 4 --mmap-flush=16K -- busy forks 60",
    "no buffering": f"{STACKS} --no-buffering -- busy spin .2",
}
