"""The options ``--value`` and ``--per-event`` of ``convert``, and how a format is made from typed options."""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from msgspec.structs import replace

from perf2x.base.frozen_struct import Frozen
from perf2x.cli.option_names import options_in_errors
from perf2x.errors import OptionError, SettingError
from perf2x.model.setting import Setting, settings_in
from perf2x.model.totals.row_kinds import Value

if TYPE_CHECKING:
    from perf2x.kernel.registry import Emitter
    from perf2x.model.plugin_options import Needs
    from perf2x.model.profile import View


class FormatFlags(Frozen):
    """Which value the output shows, and whether each event gets a file of its own."""

    PANEL = "Options of output formats"

    value: Annotated[
        Value | None,
        Setting(
            "Value to show: latency (the period divided by the number of running threads), samples (their number; "
            "collapsed, otlp), weight (of memory accesses), mispredicts (of branches).",
            shown_default="period",
            rare=True,
        ),
    ] = None
    per_event: Annotated[bool, Setting("One file for each event that was sampled: out.EVENT.folded.", rare=True)] = (
        False
    )

    def load_option_fields(self, needs: "Needs") -> dict[str, Any]:
        """Return the fields of LoadOptions that follow from ``--value``."""
        from perf2x.model.transforms.replace_samples import load_value

        latency = "beside" if "latency" in needs.columns else "value"
        return {"value": load_value(self.value), "latency": latency if self.value == "latency" else ""}

    def build(self, name: str, set_values: Mapping[str, object], option_values: Mapping[str, object]) -> "Emitter":
        """Create the format ``name`` from typed values by field: those of ``--set``, and those of its own options.

        Raises SettingError for a field or value that the format does not accept.
        """
        from perf2x.kernel.registry import build_emitter, load_emitter

        for field, setting in settings_in(load_emitter(name)).items():
            if setting.names and field in set_values:
                raise SettingError(f"--set {field}=…: use the option ", setting.names[0])
        value = {"value": "samples"} if self.value == "samples" else {}
        # errors name options as the user typed them; --event all sets the field ``event``
        with options_in_errors(
            lambda field: f"--set {field}" if field in set_values else {"event": "--event all"}.get(field, field)
        ):
            return build_emitter(name, {**option_values, **value, **set_values})

    def outputs(self, profile: "View", target: str, suffix: str) -> "Iterator[tuple[str, View]]":
        """Yield the name and the profile of each file to write; ``--per-event`` gives ``out.cycles.folded`` and so on.

        Raises OptionError if several files would go to standard output.
        """
        if not self.per_event:
            yield target, profile
            return
        from perf2x.base.columnar import take_rows_of, unique
        from perf2x.model.profile import plain_names

        if target == "-":
            raise OptionError("--per-event writes several files: choose a file name with -o, not standard output")
        used_names: set[str] = set()
        for row in unique(profile.samples.event).tolist():
            name = re.sub(r"[^\w.+-]+", "_", plain_names(profile.events)[row]).strip("_") or f"event_{row}"
            name = name if name not in used_names else f"{name}_{row}"
            used_names.add(name)
            samples = take_rows_of(profile.samples, profile.samples.event == row)
            yield _insert_name(target, suffix, name), replace(profile, samples=samples, default_event=row)


def _insert_name(target: str, suffix: str, name: str) -> str:
    for ending in (suffix, f"{suffix}.gz", suffix.removesuffix(".gz")):
        if target.endswith(ending):
            return f"{target.removesuffix(ending)}.{name}{ending}"
    return f"{target}.{name}"
