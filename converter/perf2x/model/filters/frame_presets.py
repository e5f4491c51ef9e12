"""Presets of `--hide` and other frame filters, and regular expressions that match frames."""

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager

from perf2x.base.abi import CpuMode
from perf2x.base.files.operating_system import cpu_time_limited
from perf2x.base.frozen_struct import Frozen
from perf2x.errors import SettingError
from perf2x.model.printable_text import base_name
from perf2x.model.profile import Profile, frame_name

# Functions of a runtime or the scheduler, in all styles of names (``--names``).
_PRESETS = {
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
# Presets of language runtimes, whose functions run in user mode.
RUNTIMES = {name: text for name, text in _PRESETS.items() if name != "scheduler"}
_THREAD_START = r"^(_start|__libc_start_\w+|start_thread|(__)?clone3?)$"
_RUNTIME_FUNCTION = re.compile("|".join((*RUNTIMES.values(), _THREAD_START)))
_RUNTIME_LIBRARY = re.compile(
    r"(ld|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s|c\+\+(abi)?|python[\d.]+|jvm|node|v8|ruby))(-[\w.-]+)?\.so\b"
)


def is_runtime(name: str, object_name: str) -> bool:
    """Return whether a function or its object belongs to a language's runtime, the C library or the dynamic linker."""
    return bool(_RUNTIME_LIBRARY.match(base_name(object_name)) or (name and _RUNTIME_FUNCTION.search(name)))


# Maximum of CPU time for all expressions of a filter. On some names, ``(a+)+!`` would take years.
_MAX_CPU_SECONDS = 20
# Presets that match in kernel mode only, because a program may have functions of the same names.
_KERNEL_PRESETS = frozenset({"scheduler"})


class Pattern(Frozen):
    """A typed regular expression, or that of a preset."""

    text: str
    """Text that the user typed: the expression, or the name of a preset."""
    regex: re.Pattern[str]

    @property
    def is_preset(self) -> bool:
        """Whether ``text`` is the name of a preset."""
        return self.text in _PRESETS

    def matched_text(self, profile: Profile, function: int, mapping: int, mode: int) -> str:
        """Match a frame, given as rows of functions and mappings (−1: none) and a CPU mode; return what matches, or "".

        A preset is matched against the function's name. Other expressions are matched against the object, whose base
        name is returned; then against the names of the function and of its source file, of which the matching part is
        returned.
        """
        strings, name = profile.strings, frame_name(profile, function, mapping)
        if self.is_preset:
            is_wrong_mode = self.text in _KERNEL_PRESETS and mode != CpuMode.KERNEL
            return self.text if not is_wrong_mode and self.regex.search(name) else ""
        object_path = strings[profile.mappings.filename[mapping]] if mapping >= 0 else ""
        source_path = strings[profile.functions.filename[function]] if function >= 0 else ""
        object_name = base_name(object_path)
        if any(text and self.regex.search(text) for text in (object_name, object_path)):
            return object_name or object_path
        matches = (self.regex.search(text) for text in (name, source_path) if text)
        # ``x*`` may match an empty part: the whole name is returned
        return next((match.group() or name for match in matches if match), "")


def compile_patterns(setting: str, texts: Sequence[str]) -> tuple[Pattern, ...]:
    """Compile typed expressions and presets. Raises SettingError."""
    return tuple(Pattern(text, _compiled(setting, text, _PRESETS.get(text, text))) for text in texts)


def compile_renames(setting: str, texts: Sequence[str]) -> tuple[tuple[Pattern, str], ...]:
    r"""Compile each ``RE=NAME``; NAME may refer to groups (``\1``) as in ``re.sub``. Raises SettingError."""
    renames = []
    for text in texts:
        expression, equals, name = text.rpartition("=")
        if not equals or not expression:
            raise SettingError("", setting, f" {text!r}: expected RE=NAME")
        pattern = Pattern(text, _compiled(setting, text, expression))
        try:
            pattern.regex.sub(name, "")
        except (re.error, IndexError) as error:
            raise SettingError("", setting, f" {text!r}: {error}") from None
        renames.append((pattern, name))
    return tuple(renames)


def match_time_limited(setting: str, texts: Sequence[str]) -> AbstractContextManager[None]:
    """Raise SettingError if matching ``texts`` in the ``with`` block takes too long; not on all platforms."""
    problem = f" {', '.join(map(repr, texts))}: names take more than {_MAX_CPU_SECONDS} s to match"
    return cpu_time_limited(_MAX_CPU_SECONDS, SettingError("", setting, problem))


def _compiled(setting: str, text: str, expression: str) -> re.Pattern[str]:
    try:
        return re.compile(expression)
    except (re.error, OverflowError, RecursionError) as error:
        raise SettingError("", setting, f" {text!r}: not a regular expression: {error}") from None
