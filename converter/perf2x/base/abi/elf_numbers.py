"""Numbers and layouts of ELF headers: the constants and fields that perf2x uses.

Source of truth: the System V ABI, chapters 4 and 5, and include/uapi/linux/elf.h.
"""

IDENT_SIZE = 16
CLASS_32, CLASS_64 = 1, 2
LITTLE, BIG = 1, 2
SHN_XINDEX = 0xFFFF
"""``e_shstrndx`` of files in which the number of the name section does not fit; ``sh_link`` of section 0 has it
instead.
"""
PN_XNUM = 0xFFFF
"""``e_phnum`` of files with more segments than fit; ``sh_info`` of section 0 has their number instead."""

HEADER = {CLASS_64: "HHIQQQIHHHHHH", CLASS_32: "HHIIIIIHHHHHH"}
"""Fields after e_ident as ``struct`` codes: type, machine, version, entry, phoff, shoff, flags, ehsize, phentsize,
phnum, shentsize, shnum, shstrndx.
"""
SECTION = {CLASS_64: "IIQQQQIIQQ", CLASS_32: "IIIIIIIIII"}
"""name, type, flags, addr, offset, size, link, info, addralign, entsize"""
SEGMENT = {CLASS_64: "IIQQQQQQ", CLASS_32: "IIIIIIII"}
"""64 bits: type, flags, offset, vaddr, paddr, filesz, memsz, align; 32 bits: flags come second to last."""

FILE_TYPES = {1: "ET_REL", 2: "ET_EXEC", 3: "ET_DYN", 4: "ET_CORE"}
MACHINES = {
    2: "EM_SPARC", 3: "EM_386", 20: "EM_PPC", 21: "EM_PPC64", 22: "EM_S390", 40: "EM_ARM", 43: "EM_SPARCV9",
    62: "EM_X86_64", 183: "EM_AARCH64", 243: "EM_RISCV", 258: "EM_LOONGARCH",
}  # fmt: skip
SECTION_TYPES = {
    0: "SHT_NULL", 1: "SHT_PROGBITS", 2: "SHT_SYMTAB", 3: "SHT_STRTAB", 4: "SHT_RELA", 5: "SHT_HASH", 6: "SHT_DYNAMIC",
    7: "SHT_NOTE", 8: "SHT_NOBITS", 9: "SHT_REL", 11: "SHT_DYNSYM", 14: "SHT_INIT_ARRAY", 15: "SHT_FINI_ARRAY",
}  # fmt: skip
SEGMENT_TYPES = {
    0: "PT_NULL", 1: "PT_LOAD", 2: "PT_DYNAMIC", 3: "PT_INTERP", 4: "PT_NOTE", 6: "PT_PHDR", 7: "PT_TLS",
    0x6474E550: "PT_GNU_EH_FRAME",
}  # fmt: skip
