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
    from perf2x.base.installed_packages import available
    from perf2x.kernel.registry import EMITTERS, emitter_options, is_built_in

    kinds: dict[str, Any] = {name: point.load() for name, point in available(EMITTERS).items()}
    rows = []
    for name, emitter in sorted(kinds.items()):
        point = available(EMITTERS).get(name)
        summary = (emitter.__doc__ or "").strip().partition("\n")[0]
        origin = "" if point is None or is_built_in(point) else f"  ({point.value.partition(':')[0]})"
        rows.append((name, emitter.suffix, summary + origin))
    wide = [max(len(row[column]) for row in rows) for column in (0, 1)] if rows else [0, 0]
    for name, suffix, summary in rows:
        typer.echo(f"{name:<{wide[0]}}  {suffix:<{wide[1]}}  {summary}")
        for entry in emitter_options(kinds[name]) if verbose else ():
            default = ",".join(entry.default) if isinstance(entry.default, tuple) else entry.default
            default = {True: "yes", False: "no"}.get(default, default) if isinstance(default, bool) else default
            shown = "" if default in (None, "") else f" [{default}]"
            option = entry.flags[0] if entry.flags else f"--set {entry.name}=…"
            typer.echo(f"    {option}  {entry.help}{shown}")
