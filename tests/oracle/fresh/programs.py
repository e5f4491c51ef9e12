"""Programs that the modes record: ``busy.c`` in several builds, and what else they need beside them."""

import shutil
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("busy.c")
POINTERS = "-O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls"
BUILDS = {
    "busy": POINTERS,
    "busy-no-pie": f"{POINTERS} -no-pie",
    "busy-static": f"{POINTERS} -static",
    "busy-stripped": f"{POINTERS} -s",
    "busy-no-id": f"{POINTERS} -Wl,--build-id=none",
    "busy-optimized": "-O2 -fomit-frame-pointer",
}
SMALL = """
static volatile unsigned sink;
__attribute__((noinline)) void inner(unsigned n) { while (n--) sink += n; }
__attribute__((noinline)) void outer(unsigned n) { inner(n); sink++; }
void _start(void) { for (int i = 0; i < 3000; i++) outer(99999); __asm__("int $0x80" : : "a"(1), "b"(0)); }
"""
"""A program of 32 bits without a C library, which few machines have for them."""


def build(folder: Path) -> list[str]:
    """Build all programs into a folder; return the names of those that this machine cannot build."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return [*BUILDS, "busy-32"]
    small = folder / "small.c"
    small.write_text(SMALL)
    commands = {name: [*options.split(), "-pthread", str(SOURCE)] for name, options in BUILDS.items()}
    commands["busy-32"] = [*POINTERS.split(), "-m32", "-fno-pie", "-nostdlib", "-static", str(small)]
    return [
        name
        for name, words in commands.items()
        if subprocess.run([compiler, *words, "-o", folder / name], capture_output=True, check=False).returncode
    ]


def lay_out(folder: Path) -> None:
    """Write the inputs of a mode's programs."""
    (folder / "big").write_bytes(bytes(range(256)) * 80_000)
    functions = (f"int f{n}(int a) {{ for (int i = 0; i < a; i++) a ^= i * {n}; return a; }}" for n in range(400))
    (folder / "input.c").write_text("\n".join(functions))
