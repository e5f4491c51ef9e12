"""Load options for one output format: adds what the format needs, and refuses what it does not support.

Each option declares what it needs of a format, and of an input.
"""

from collections.abc import Container

from msgspec.structs import replace

from perf2x.errors import OptionError, SettingError
from perf2x.kernel.input_source import Lacks
from perf2x.kernel.load_options import LoadOptions
from perf2x.model.plugin_options import NAMES, SAMPLES, STACKS, Needs
from perf2x.model.setting import changed_settings

OF_COMMAND = {"per_event": STACKS, "fail_if_unresolved": NAMES, "fail_if_missing_user": SAMPLES}
"""Settings of the command line only, by group: one file per event, and limits on finished profiles."""

ONE_RECORDING = "samples are written as they were recorded: pass one recording at a time, and no dataset"


def options_for_format(options: LoadOptions, name: str, needs: Needs, timeline: bool | None = None) -> LoadOptions:
    """Return the options with everything that the format ``name`` needs.

    ``timeline`` overrides the format's default unless it is None. Raises SettingError for an option that the format
    does not support.
    """
    if timeline is False and needs.times:
        raise SettingError(f"{name} cannot take ", "timeline", "=False: it shows samples over time")
    refuse_unhonoured(options, name, needs)
    symbols = options.symbols
    if symbols is not None:
        full_names = symbols.keep_full_names or needs.full_names
        single = any(one.AS_RECORDED for one in needs.features)
        inline = symbols.inline or (single and needs.lines)  # only inlined functions require debug info
        symbols = replace(symbols, keep_full_names=full_names, lines=needs.lines, inline=inline)
    needed = {type(one): one for one in needs.features if one != type(one)()}
    return replace(
        options,
        symbols=symbols,
        timeline=needs.timeline if timeline is None else timeline,
        times_optional=needs.timeline and not needs.times and timeline is None,
        by_thread=options.by_thread and needs.threads,
        keep=options.keep | needs.columns,
        counts=options.counts or "counts" in needs.columns,
        keep_other_events=options.keep_other_events or "events" in needs.columns,
        features=tuple(({type(one): one for one in options.features} | needed).values()),
    )


def check_of_command(given: Container[str], name: str, needs: Needs) -> None:
    """Raise SettingError for the first of OF_COMMAND in ``given`` that the format ``name`` does not support."""
    for setting, group in OF_COMMAND.items():
        if setting in given:
            _refuse_unless_honoured(setting, group, name, needs)


def refuse_unhonoured(options: LoadOptions, name: str, needs: Needs) -> None:
    """Raise SettingError for the first setting that the format ``name`` does not support."""
    for setting, declared in changed_settings(options):
        if declared.group:
            _refuse_unless_honoured(setting, declared.group, name, needs)


def _refuse_unless_honoured(setting: str, group: str, name: str, needs: Needs) -> None:
    """Raise SettingError if the format ``name`` does not support the group of a setting."""
    if group not in needs.honours:
        raise SettingError(f"{name} cannot take ", setting, f": {needs.why}" if needs.why else _others(group))


def refuse_lacking(options: LoadOptions, lacks: Lacks) -> None:
    """Raise SettingError or OptionError for the first setting that needs data an input lacks (``Source.lacks``)."""
    for setting, declared in changed_settings(options):
        if declared.asks in lacks:
            before, after = lacks[declared.asks]
            raise SettingError(before, setting, after)
    for struct in (options, *options.features):  # fields in order: that of a set differs from run to run
        for field in struct.__struct_fields__:
            if field in lacks and getattr(struct, field) != getattr(type(struct)(), field):
                raise OptionError(*lacks[field])
    by_cpu = options.grouping.root == "cpu"
    if "times" in lacks and (
        by_cpu or (not options.times_optional and (options.needs_times or "cpu" in options.columns))
    ):
        words = lacks["times"][1]
        raise SettingError("", "root", f" cpu{words}") if by_cpu else OptionError(words.removeprefix(": "))


def _others(group: str) -> str:
    """Return the built-in formats that support a group, as text."""
    from perf2x.base.installed_packages import available
    from perf2x.kernel.registry import EMITTERS, build_emitter, is_built_in

    built_in = [name for name, point in available(EMITTERS).items() if is_built_in(point)]
    others = [name for name in built_in if group in build_emitter(name).needs.honours]
    return f"; {' and '.join(filter(None, (', '.join(others[:-1]), others[-1])))} can"
