"""Load options for one output format; options that would have no effect are refused.

A `Setting` names its group of options (``group``), and the data that an input must have for it (``asks``). A format's
`Needs` name the groups that it supports (``honours``); an input names the data that it lacks (``lacks``).
"""

from collections.abc import Container

from msgspec.structs import replace

from perf2x.errors import OptionError, SettingError
from perf2x.kernel.input_source import Lacks
from perf2x.kernel.load_options import LoadOptions
from perf2x.model.plugin_options import NAMES, SAMPLES, STACKS, Needs
from perf2x.model.setting import changed_settings

COMMAND_ONLY_SETTINGS = {"per_event": STACKS, "fail_if_unresolved": NAMES, "fail_if_missing_user": SAMPLES}
"""The groups of the settings that only the command line has; `LoadOptions` does not declare these settings."""

ONE_RECORDING = "samples are written as they were recorded: pass one recording at a time, and no dataset"


def options_for_format(
    options: LoadOptions, format_name: str, needs: Needs, timeline: bool | None = None
) -> LoadOptions:
    """Add what the format needs; ``timeline`` overrides the format's default unless it is None.

    Raises SettingError for an option that the format does not support.
    """
    if timeline is False and needs.times:
        raise SettingError(f"{format_name} cannot take ", "timeline", "=False: it shows samples over time")
    refuse_unsupported(options, format_name, needs)
    symbols = options.symbols
    if symbols is not None:
        full_names = symbols.keep_full_names or needs.full_names
        is_as_recorded = any(settings.AS_RECORDED for settings in needs.features)
        # as in perf, the source line of an address is that of the innermost inlined function
        inline = symbols.inline or (is_as_recorded and needs.lines)
        symbols = replace(symbols, keep_full_names=full_names, lines=needs.lines, inline=inline)
    needed = {type(settings): settings for settings in needs.features if settings != type(settings)()}
    return replace(
        options,
        symbols=symbols,
        timeline=needs.timeline if timeline is None else timeline,
        times_optional=needs.timeline and not needs.times and timeline is None,
        by_thread=options.by_thread and needs.threads,
        keep=options.keep | needs.columns,
        counts=options.counts or "counts" in needs.columns,
        keep_other_events=options.keep_other_events or "events" in needs.columns,
        features=tuple(({type(settings): settings for settings in options.features} | needed).values()),
    )


def check_command_only_settings(used_settings: Container[str], format_name: str, needs: Needs) -> None:
    """Raise SettingError for the first of the used COMMAND_ONLY_SETTINGS that the format does not support."""
    for setting, group in COMMAND_ONLY_SETTINGS.items():
        if setting in used_settings:
            _refuse_unless_supported(setting, group, format_name, needs)


def refuse_unsupported(options: LoadOptions, format_name: str, needs: Needs) -> None:
    """Raise SettingError for the first changed setting that the format does not support."""
    for setting, declared in changed_settings(options):
        if declared.group:
            _refuse_unless_supported(setting, declared.group, format_name, needs)


def _refuse_unless_supported(setting: str, group: str, format_name: str, needs: Needs) -> None:
    if group not in needs.honours:
        why = f": {needs.why}" if needs.why else _formats_that_support(group)
        raise SettingError(f"{format_name} cannot take ", setting, why)


def refuse_missing_data(options: LoadOptions, lacks: Lacks) -> None:
    """Raise SettingError or OptionError for the first setting that needs data in ``lacks`` (``Source.lacks``)."""
    for setting, declared in changed_settings(options):
        if declared.asks in lacks:
            before, after = lacks[declared.asks]
            raise SettingError(before, setting, after)
    # in the order of fields, so that the message is always the same
    for struct in (options, *options.features):
        for field in struct.__struct_fields__:
            if field in lacks and getattr(struct, field) != getattr(type(struct)(), field):
                raise OptionError(*lacks[field])
    # a format may need times and CPUs although the user has set no option
    by_cpu = options.grouping.root == "cpu"
    if "times" in lacks and (
        by_cpu or (not options.times_optional and (options.needs_times or "cpu" in options.columns))
    ):
        after = lacks["times"][1]
        raise SettingError("", "root", f" cpu{after}") if by_cpu else OptionError(after.removeprefix(": "))


def _formats_that_support(group: str) -> str:
    from perf2x.base.installed_packages import entry_points_by_name
    from perf2x.kernel.registry import EMITTERS, build_emitter, is_built_in

    built_in = [name for name, point in entry_points_by_name(EMITTERS).items() if is_built_in(point)]
    names = [name for name in built_in if group in build_emitter(name).needs.honours]
    return f"; {' and '.join(filter(None, (', '.join(names[:-1]), names[-1])))} can"
