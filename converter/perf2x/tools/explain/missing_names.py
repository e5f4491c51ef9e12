"""Explains for each object of a recording why frames have no names, and what would help."""

from collections.abc import Iterator

from perf2x.base.binaries.find.object_finder import OTHER_BUILD, Finder, ObjectFiles, SearchedPath
from perf2x.base.frozen_struct import Frozen
from perf2x.base.mapping_names import is_object, is_vdso, without_deleted
from perf2x.symbolizer.sources.elf_source import STRIPPED
from perf2x.tools.explain.debug_file_advice import Remedy, debug_package, for_debug_file

# Mappings without code. Memory of JIT compilers has longer names, such as ``//anon of process 17``.
_DATA_NAMES = ("//anon", "[heap]")
_KERNEL = ("[kernel", "[guest.kernel")


class UnnamedObject(Frozen):
    """An object of a recording with unnamed frames."""

    name: str
    build_id: str
    frames: int
    why: str
    looked_at: tuple[SearchedPath, ...]
    advice: tuple[Remedy, ...]


def explain_unnamed(name: str, build_id: str, frames: int, why: str, finder: Finder) -> UnnamedObject:
    """Search for an object's files once more; ``why`` is the symbolizer's reason for missing names."""
    if not is_object(name, bool(build_id)):
        return UnnamedObject(name, build_id, frames, why, (), tuple(_advice_without_file(name)))
    found = finder.find(name, bytes.fromhex(build_id))
    advice: Iterator[Remedy] = iter(())
    if not found.files:
        advice = _advice_for_missing_file(found, build_id, finder.search_paths.symfs is not None)
    elif why == STRIPPED:
        advice = for_debug_file("names", debug_package(finder, without_deleted(name)), build_id, found)
    return UnnamedObject(name, build_id, frames, why, tuple(found.searched), tuple(advice))


def _advice_without_file(name: str) -> Iterator[Remedy]:
    if name.startswith(_KERNEL):
        yield Remedy("copy /proc/kallsyms as root on the recorded machine, before it reboots", "--kallsyms FILE")
    elif is_vdso(name):
        yield Remedy("it is only in the kernel's memory; on the recorded machine, before it reboots", "perf2x bundle")
        yield Remedy("point to the files of the recorded machine, including /lib/modules/RELEASE/vdso", "--symfs DIR")
    elif name in ("[unknown]", *_DATA_NAMES):
        yield Remedy("stacks are wrong in code without frame pointers; compile with", "-fno-omit-frame-pointer")
        yield Remedy("or record user stack dumps", "perf record --call-graph dwarf")
    elif name.startswith("//anon"):
        yield Remedy("a just-in-time compiler has to write a perf map; for node", "node --perf-basic-prof")
        yield Remedy("if it wrote a jit-PID.dump, run where that file is", "perf inject --jit")


def _advice_for_missing_file(found: ObjectFiles, build_id: str, has_symfs: bool) -> Iterator[Remedy]:
    """Propose no package, because this machine's packages may be of another version than the recorded one."""
    replaced = any(searched.result == OTHER_BUILD for searched in found.searched)
    prefix = "the file here is of another version; " if replaced else ""
    if has_symfs:
        yield Remedy(f"{prefix}on the recorded machine, pack the recording with its files", "perf2x bundle")
    else:
        yield Remedy(f"{prefix}point to the files of the recorded machine", "--symfs DIR")
    yield from for_debug_file("names", "", build_id, found)
