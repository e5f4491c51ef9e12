"""``perf2x formats``: all installed output formats."""

from typing import Any

import typer

from perf2x.cli.options.input_options import Verbose


def formats(verbose: Verbose = False) -> None:
    """List the output formats, plugins included, with file suffix and one line of help; -v: their options, too.

    ::

        perf2x formats
        perf2x formats -v
    """
    from perf2x.base.installed_packages import EntryPoint, available
    from perf2x.kernel.registry import EMITTERS, is_built_in
    from perf2x.model.setting import settings_in

    kinds: dict[str, tuple[EntryPoint, Any]] = {
        name: (point, point.load()) for name, point in sorted(available(EMITTERS).items())
    }
    names, suffixes = max(map(len, kinds)), max(len(emitter.suffix) for _, emitter in kinds.values())
    for name, (point, emitter) in kinds.items():
        summary = (emitter.__doc__ or "").strip().partition("\n")[0]
        origin = "" if is_built_in(point) else f"  ({point.value.partition(':')[0]})"
        typer.echo(f"{name:<{names}}  {emitter.suffix:<{suffixes}}  {summary}{origin}")
        for entry in settings_in(emitter).values() if verbose else ():
            default = ",".join(entry.default) if isinstance(entry.default, tuple) else entry.default
            if isinstance(default, bool):
                default = "yes" if default else "no"
            shown = "" if default in (None, "") else f" [{default}]"
            option = entry.names[0] if entry.names else f"--set {entry.name}=…"
            typer.echo(f"    {option}  {entry.help}{shown}")
