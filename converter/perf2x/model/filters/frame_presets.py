"""Presets of `--hide` and other frame filters, and regular expressions that match frames."""

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager

from perf2x.base.abi import CpuMode
from perf2x.base.files.operating_system import processor_time_limited
from perf2x.base.frozen_struct import Frozen
from perf2x.errors import SettingError
from perf2x.model.printable_text import base_name
from perf2x.model.profile import Profile, frame_name

_READY_MADE = {
    "python": r"^(_?Py(Eval|Run|Vectorcall)\w*|_?Py(Object|Function|CFunction|Method|MethodDef)_\w*(Call|Vectorcall)\w*"
    r"|Py_((Run|Bytes)?Main)|_?Py_X?(INCREF|DECREF)|_?Py(Unstable_)?Code_GetExtra|_?PyFrame_Initialize|slot_tp_call"
    r"|(pymain|pyrun|run_mod|run_eval|cfunction|vectorcall|method_vectorcall|py_trampoline|clear_thread_frame)(_\w+)?"
    r"|initialize_locals|type_call|_TAIL_CALL_\w+|function_code_fastcall|call_function|do_call_core)(\.|$)",
    "node": r"^((\w+ )?(v8|node)::|_ZNK?(2v8|4node)|Builtins_|uv_)",
    "jvm": r"^(_ZL\d+)?(Interpreter$|StubRoutines|call_stub|[vi]table stub|I2C/C2I|(Thread)?JavaMain$|jni_(invoke|Call)"
    r"|Thread::call_run|_ZN6Thread8call_run|thread_native_entry|(JavaCalls|JavaThread|InterpreterRuntime|InstanceKlass)::"
    r"|_ZNK?(9JavaCalls|10JavaThread|18InterpreterRuntime|13InstanceKlass))",
    "go-runtime": r"^(internal/)?runtime[./]|\.runtime_\w+$"
    r"|^((aeshash|memeq)body|gogo|callRet|_rt0_\w+|gcWriteBarrier\w*)(\.abi0)?$",
    "scheduler": r"^(__schedule|__schedule_loop|finish_task_switch|io_schedule(_timeout)?|prepare_to_wait_event"
    r"|preempt_schedule(_(common|irq|notrace))?(_thunk)?|schedule(_(timeout(_(idle|(un)?interruptible|killable))?"
    r"|hrtimeout(_range(_clock)?)?|preempt_disabled|rtlock))?)(\.|$)",
}
"""Presets by the name that the user types: frames that belong to a runtime rather than to the program.

They match names of all styles (``--names``).
"""
RUNTIMES = {name: text for name, text in _READY_MADE.items() if name != "scheduler"}
"""Presets of runtimes, which run in user mode."""
_START = r"^(_start|__libc_start_\w+|start_thread|(__)?clone3?)$"
_RUNTIME = re.compile("|".join((*RUNTIMES.values(), _START)))
_LIBRARIES = re.compile(
    r"(ld|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s|c\+\+(abi)?|python[\d.]+|jvm|node|v8|ruby))(-[\w.-]+)?\.so\b"
)


def is_runtime(name: str, thing: str) -> bool:
    """Return whether a function or, with "" as its name, an object belongs to a language's runtime or the C library."""
    return bool(_LIBRARIES.match(base_name(thing)) or (name and _RUNTIME.search(name)))


_SECONDS = 20
"""CPU seconds that one filter's expressions may take: ``(a+)+!`` would take years on some names."""
_KERNEL = frozenset({"scheduler"})
"""Presets of kernel code; a program may have functions of the same names.

The scheduler's are functions of kernel/sched/core.c and kernel/time/{timer,sleep_timeout}.c that every wait ends in.
"""


class Pattern(Frozen):
    """A regular expression as typed, or that of a preset."""

    text: str
    """The text as typed."""
    regex: re.Pattern[str]

    @property
    def is_ready_made(self) -> bool:
        """Whether the text is the name of a preset."""
        return self.text in _READY_MADE

    def found(self, profile: Profile, function: int, mapping: int, mode: int) -> str:
        """Return the part of a frame that matches: its object, or part of its function or file name.

        Returns "" if none does.
        """
        strings, name = profile.strings, frame_name(profile, function, mapping)
        if self.is_ready_made:
            is_elsewhere = self.text in _KERNEL and mode != CpuMode.KERNEL
            return self.text if not is_elsewhere and self.regex.search(name) else ""
        path = strings[profile.mappings.filename[mapping]] if mapping >= 0 else ""
        file = strings[profile.functions.filename[function]] if function >= 0 else ""
        short = base_name(path)
        if any(text and self.regex.search(text) for text in (short, path)):
            return short or path
        found = (self.regex.search(text) for text in (name, file) if text)
        return next((match.group() or name for match in found if match), "")


def patterns_of(setting: str, texts: Sequence[str]) -> tuple[Pattern, ...]:
    """Compile expressions. Raises SettingError for an invalid one."""
    return tuple(Pattern(text, _compiled(setting, text, _READY_MADE.get(text, text))) for text in texts)


def renames_of(setting: str, texts: Sequence[str]) -> tuple[tuple[Pattern, str], ...]:
    r"""Compile ``RE=NAME``, where NAME is a template of ``re.sub``, such as ``\1``.

    Raises SettingError for an invalid one.
    """
    found = []
    for text in texts:
        expression, equals, name = text.rpartition("=")
        if not equals or not expression:
            raise SettingError("", setting, f" {text!r}: expected RE=NAME")
        pattern = Pattern(text, _compiled(setting, text, expression))
        try:
            pattern.regex.sub(name, "")
        except (re.error, IndexError) as error:
            raise SettingError("", setting, f" {text!r}: {error}") from None
        found.append((pattern, name))
    return tuple(found)


def matching(setting: str, texts: Sequence[str]) -> AbstractContextManager[None]:
    """Raise SettingError if the block's expressions take too long (only where ``processor_time_limited`` can)."""
    words = f" {', '.join(map(repr, texts))}: names take more than {_SECONDS} s to match"
    return processor_time_limited(_SECONDS, SettingError("", setting, words))


def _compiled(setting: str, text: str, expression: str) -> re.Pattern[str]:
    try:
        return re.compile(expression)
    except (re.error, OverflowError, RecursionError) as error:
        raise SettingError("", setting, f" {text!r}: not a regular expression: {error}") from None
