"""``perf2x formats``: lists all installed output formats."""

from typing import Any

import typer

from perf2x.cli.options.input_options import Verbose


def formats(verbose: Verbose = False) -> None:
    """List the output formats, plugins included, with file suffix and one line of help; -v: their options, too.

    ::

        perf2x formats
        perf2x formats -v
    """
    from perf2x.base.installed_packages import EntryPoint, entry_points_by_name
    from perf2x.kernel.registry import EMITTERS, is_built_in
    from perf2x.model.setting import settings_in

    emitters: dict[str, tuple[EntryPoint, Any]] = {
        name: (entry_point, entry_point.load()) for name, entry_point in sorted(entry_points_by_name(EMITTERS).items())
    }
    name_width, suffix_width = max(map(len, emitters)), max(len(emitter.suffix) for _, emitter in emitters.values())
    for name, (entry_point, emitter) in emitters.items():
        summary = (emitter.__doc__ or "").strip().partition("\n")[0]
        # formats of plugins are shown with their module
        module = "" if is_built_in(entry_point) else f"  ({entry_point.value.partition(':')[0]})"
        typer.echo(f"{name:<{name_width}}  {emitter.suffix:<{suffix_width}}  {summary}{module}")
        for setting in settings_in(emitter).values() if verbose else ():
            default = ",".join(setting.default) if isinstance(setting.default, tuple) else setting.default
            if isinstance(default, bool):
                default = "yes" if default else "no"
            shown_default = "" if default in (None, "") else f" [{default}]"
            option = setting.names[0] if setting.names else f"--set {setting.name}=…"
            typer.echo(f"    {option}  {setting.help}{shown_default}")
