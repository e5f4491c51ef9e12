"""Layout of a bundle: a recording and what names its samples in one tarball, to be converted on any machine.

::

    perf.data                    the recording, byte for byte; perf.data/data … if it is a directory
    objects/BUILDID/elf          a mapped file (or vdso: the kernel's vDSO)
    objects/BUILDID/debug        its debug info or symbols, if they are in another file; what dwz moved out of them
    objects/BUILDID/kallsyms     the kernel's symbols
    maps/perf-PID.map            code of just-in-time compilers; maps/jit-PID.dump
    bundle.json                  list of all members, and of what is missing

BUILDID is a hash of the recorded name if no build id was recorded. Names of members are plain ASCII and differ by more
than case, whatever was recorded; the list has the recorded names. A bundle is also a tarball of ``perf archive``
(binaries/find/perf_archive.py).
"""

RECORDING = "perf.data"
MAPS = "maps"
LIST = "bundle.json"
SCHEMA = 1
"""Version of ``LIST``."""
