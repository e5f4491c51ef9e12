"""Options on the contents of any output format; those of one format are its fields (cli/format_parameters.py)."""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from msgspec.structs import replace

from perf2x.base.frozen_struct import Frozen
from perf2x.cli.typed_options import as_typed
from perf2x.errors import OptionError, SettingError
from perf2x.model.setting import Setting, settings_in
from perf2x.model.totals.row_kinds import Value

if TYPE_CHECKING:
    from perf2x.kernel.registry import Emitter
    from perf2x.model.plugin_options import Needs
    from perf2x.model.profile import View


class FormatFlags(Frozen):
    """Values, and files for each event."""

    PANEL = "Options of output formats"

    value: Annotated[
        Value | None,
        Setting(
            "latency: period divided by running threads; samples (collapsed, otlp): their number; weight: of "
            "memory accesses; mispredicts: of branches.",
            shown_default="period",
            rare=True,
        ),
    ] = None
    per_event: Annotated[bool, Setting("One file for each event that was sampled: out.EVENT.folded.", rare=True)] = (
        False
    )

    def part_for(self, needs: "Needs") -> dict[str, Any]:
        """Return fields of LoadOptions; latencies are a separate column if the format shows both."""
        from perf2x.model.transforms.weights_and_mispredicts import value_option

        latency = "beside" if "latency" in needs.columns else "value"
        return {"value": value_option(self.value), "latency": latency if self.value == "latency" else ""}

    def build(self, name: str, extra: Mapping[str, object], typed: Mapping[str, object]) -> "Emitter":
        """Create the format ``name`` from values of ``--set`` and from its own options.

        Raises SettingError for options that it lacks, for ``--set`` in place of an option, and for values that it does
        not accept.
        """
        from perf2x.kernel.registry import build_emitter, load_emitter

        for field, setting in settings_in(load_emitter(name)).items():
            if setting.names and field in extra:
                raise SettingError(f"--set {field}=…: use the option ", setting.names[0])
        value = {"value": "samples"} if self.value == "samples" else {}
        with as_typed(lambda field: f"--set {field}" if field in extra else {"event": "--event all"}.get(field, field)):
            return build_emitter(name, {**typed, **value, **extra})

    def outputs(self, profile: "View", target: str, suffix: str) -> "Iterator[tuple[str, View]]":
        """Yield the name (``out.folded`` becomes ``out.cycles.folded``) and profile of each file to write.

        It is one file, or one for each event that has samples. Raises OptionError for standard output, which cannot be
        several files.
        """
        if not self.per_event:
            yield target, profile
            return
        from perf2x.base.columnar import take_rows_of, unique
        from perf2x.model.profile import plain_names

        if target == "-":
            raise OptionError("--per-event writes several files: choose a file name with -o, not standard output")
        used: set[str] = set()
        for row in unique(profile.samples.event).tolist():
            name = re.sub(r"[^\w.+-]+", "_", plain_names(profile.events)[row]).strip("_") or f"event_{row}"
            name = name if name not in used else f"{name}_{row}"
            used.add(name)
            samples = take_rows_of(profile.samples, profile.samples.event == row)
            yield _with_event(target, suffix, name), replace(profile, samples=samples, default_event=row)


def _with_event(target: str, suffix: str, name: str) -> str:
    for ending in (suffix, f"{suffix}.gz", suffix.removesuffix(".gz")):
        if target.endswith(ending):
            return f"{target.removesuffix(ending)}.{name}{ending}"
    return f"{target}.{name}"
