"""``perf2x convert``: one recording in, one file out, at most five lines on standard error."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from perf2x.cli import console
from perf2x.cli.symbol_flags import (
    BuildidDir,
    DebugDirs,
    Debuginfod,
    DemangleStyle,
    Inline,
    Kallsyms,
    NoSymbols,
    PerfMapDir,
    Symfs,
    Vmlinux,
    symbol_options,
)
from perf2x.model.errors import OptionError

_INPUT_SUFFIXES = (".gz", ".zst", ".xz", ".data")

Input = Annotated[str, typer.Argument(metavar="[INPUT]", help="The recording; - is standard input.")]
Inputs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[INPUT]...",
        show_default="perf.data",
        help="The recording, or all files of one session; - is standard input.",
    ),
]
To = Annotated[str | None, typer.Option("--to", "-t", metavar="FORMAT", help="Output format; see: perf2x formats.")]
Output = Annotated[
    str | None, typer.Option("--output", "-o", metavar="FILE", help="Where to write; - is standard output.")
]
Event = Annotated[
    str | None, typer.Option("--event", "-e", metavar="NAME", help="Only this event; collapsed also takes 'all'.")
]
Value = Annotated[
    str | None, typer.Option("--value", metavar="period|samples", help="collapsed: what the numbers are [period].")
]
KernelSuffix = Annotated[bool, typer.Option("--kernel-suffix", help="collapsed: mark kernel frames with _[k].")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", "-s", metavar="NAME=VALUE", help="An option of the output format.")
]
DeferredMissing = Annotated[
    str,
    typer.Option(
        "--deferred-missing",
        metavar="mark|kernel-only|drop",
        help="What to do with samples whose deferred user stack is not in the file.",
    ),
]
StitchLbr = Annotated[
    bool, typer.Option("--stitch-lbr", help="--call-graph lbr: complete stacks from the thread's previous sample.")
]
MergeCallchains = Annotated[
    bool,
    typer.Option(
        "--merge-callchains/--no-merge-callchains", help="Join deferred user stacks to the samples that wait for them."
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing on standard error.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Say more on standard error.")]


def convert(
    inputs: Inputs = None,
    to: To = None,
    output: Output = None,
    event: Event = None,
    value: Value = None,
    kernel_suffix: KernelSuffix = False,
    settings: Settings = None,
    deferred_missing: DeferredMissing = "mark",
    stitch_lbr: StitchLbr = False,
    merge_callchains: MergeCallchains = True,
    symfs: Symfs = None,
    kallsyms: Kallsyms = None,
    vmlinux: Vmlinux = None,
    debug_dirs: DebugDirs = None,
    buildid_dir: BuildidDir = None,
    perf_map_dir: PerfMapDir = None,
    debuginfod: Debuginfod = None,
    demangle: DemangleStyle = "simple",
    inline: Inline = True,
    no_symbols: NoSymbols = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Convert a perf.data recording.

    Writes beside where you stand unless -o says otherwise; never overwrites its input.
    """
    from perf2x import pipeline, plugins
    from perf2x.callgraphs import CallGraphOptions
    from perf2x.cli.output import STANDARD, writing
    from perf2x.cli.summary import summary

    sources = tuple(inputs or ["perf.data"])
    name = to or format_of(output)
    emitter = plugins.build_emitter(
        name, _settings(settings, event=_all(event), value=value, kernel_suffix=kernel_suffix or None)
    )
    if deferred_missing not in ("mark", "kernel-only", "drop"):
        raise OptionError(f"--deferred-missing {deferred_missing}: it is one of mark, kernel-only, drop")
    target = output or default_output(sources[0], emitter.suffix)
    _refuse_terminal(target, name)
    options = pipeline.LoadOptions(
        timeline=emitter.timeline,
        deferred_missing=deferred_missing,
        call_graphs=CallGraphOptions(stitch_lbr=stitch_lbr),
        merge_callchains=merge_callchains,
        events=() if event in (None, "all") else (str(event),),
        symbols=symbol_options(
            symfs=symfs,
            kallsyms=kallsyms,
            vmlinux=vmlinux,
            debug_dirs=debug_dirs,
            buildid_dir=buildid_dir,
            perf_map_dir=perf_map_dir,
            debuginfod=debuginfod,
            demangle=demangle,
            inline=inline,
            no_symbols=no_symbols,
        ),
    )
    with console.progress(quiet) as progress:
        loaded = pipeline.load(sources, options, progress)
        profile = loaded.profile
        with writing(target, inputs=sources, compress=_compress(target, emitter.suffix)) as out:
            emitter.emit(profile, out)
    if not quiet:
        where = "standard output" if target == STANDARD else target
        for line in summary(loaded, name, where, plugins.notes(emitter, profile), verbose=verbose):
            console.note(line)


def format_of(output: str | None) -> str:
    """The format that the output's suffix names; OptionError when none or several do."""
    from perf2x.plugins import EMITTERS, available, load_emitter

    suffixes = {name: load_emitter(name).suffix for name in available(EMITTERS)}
    if output is None or output == "-":
        raise OptionError(f"say what to convert to with --to: {', '.join(suffixes)}")
    matching = [name for name, suffix in suffixes.items() if _bare(output).endswith(_bare(suffix))]
    longest = max((len(_bare(suffixes[name])) for name in matching), default=0)
    best = [name for name in matching if len(_bare(suffixes[name])) == longest]
    if len(best) != 1:
        known = ", ".join(f"{name} ({suffix})" for name, suffix in suffixes.items())
        raise OptionError(f"the name {output} does not tell the format; say --to: {known}")
    return best[0]


def default_output(source: str, suffix: str) -> str:
    """``perf.data`` becomes ``perf`` and the suffix, in the current directory."""
    name = "perf" if source == "-" else Path(source).resolve().name
    for ending in _INPUT_SUFFIXES:
        name = name.removesuffix(ending)
    return (name or "perf") + suffix


def _bare(name: str) -> str:
    return name.removesuffix(".gz")


def _compress(target: str, suffix: str) -> bool:
    """Whether the output name asks for gzip that the format does not already do itself."""
    return target.endswith(".gz") and not suffix.endswith(".gz")


def _refuse_terminal(target: str, name: str) -> None:
    if target == "-" and sys.stdout.isatty() and name == "pprof":
        raise OptionError("pprof is binary and standard output is a terminal; name a file with -o")


def _all(event: str | None) -> str | None:
    """``all`` goes to the output format, which may be able to count all events; names choose samples before that."""
    return event if event == "all" else None


def _settings(settings: list[str] | None, **named: object) -> dict[str, object]:
    """What was said of the output format, as ``--set`` or as options of their own."""
    chosen: dict[str, object] = {}
    for setting in settings or []:
        key, equals, text = setting.partition("=")
        if not equals:
            raise OptionError(f"--set {setting}: expected NAME=VALUE")
        chosen[key.replace("-", "_")] = text
    return chosen | {key: value for key, value in named.items() if value is not None}
