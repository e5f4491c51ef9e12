"""Maps perf's register numbers to DWARF's, for each architecture.

Samples (PERF_SAMPLE_REGS_USER) number registers as arch/*/include/uapi/asm/perf_regs.h does. Call frame information
numbers them as the processor's psABI does.
"""

X86_64_DWARF = {
    0: 0,  # AX
    1: 3,  # BX
    2: 2,  # CX
    3: 1,  # DX
    4: 4,  # SI
    5: 5,  # DI
    6: 6,  # BP
    7: 7,  # SP
    8: 16,  # IP: the return address column
    16: 8, 17: 9, 18: 10, 19: 11, 20: 12, 21: 13, 22: 14, 23: 15,  # R8 to R15
}  # fmt: skip
"""enum perf_event_x86_regs → "System V ABI, AMD64", figure 3.36."""

I386_DWARF = {0: 0, 1: 3, 2: 1, 3: 2, 4: 6, 5: 7, 6: 5, 7: 4, 8: 8}
"""enum perf_event_x86_regs of a 32-bit process → "System V ABI, Intel386", figure 2.14."""

AARCH64_DWARF = {number: number for number in range(33)}
"""enum perf_event_arm_regs: x0 to x29, LR 30, SP 31, PC 32, as "DWARF for the Arm 64-bit Architecture" numbers them."""

_X86 = ("AX", "BX", "CX", "DX", "SI", "DI", "BP", "SP", "IP", "FLAGS", "CS", "SS", "DS", "ES", "FS", "GS")
NAMES = {
    "x86_64": (*_X86, *(f"R{number}" for number in range(8, 16))),
    "i686": _X86,
    "aarch64": (*(f"x{number}" for number in range(30)), "lr", "sp", "pc"),
}
"""Names of registers in the order of perf's numbers (tools/perf/util/perf-regs-arch), by ``uname -m``."""
