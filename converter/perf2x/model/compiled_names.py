"""Names that runtimes give to code of their just-in-time compilers: whose they are, and what users call the function.

One row of ``_FORMS`` is one form. docs/symbols.md shows what becomes of it. Sources of truth, and real maps that the
tests hold: CPython's Python/perf_trampoline.c; V8's src/logging/log.cc and src/objects/code-kind.cc; OpenJDK's
``Method::external_name``; perf's jvmti/libjvmti.c; perf-map-agent.c; .NET's src/coreclr/vm/perfmap.cpp; PHP's
zend_jit_trace.c; OTP's beam_jit_main.cpp; LuaJIT's lj_trace.c; Ruby's yjit/src/codegen.rs; Dart's
runtime/vm/code_observers.cc; Julia's src/codegen.cpp.
"""

import re
from collections.abc import Callable

from perf2x.base.frozen import Frozen
from perf2x.model.printable_text import base_name


class CompiledName(Frozen):
    """A name in a perf map or jitdump, read."""

    language: str
    """As OpenTelemetry's ``profile.frame.type`` has it; "native" for engines that it does not list."""
    shown: str = ""
    """The function's name without marks of the compiler; "" if the name is shown as it is written."""
    file: str = ""
    line: int = 0


_V8_ANONYMOUS = {"Eval": "(eval)", "Script": "(script)"}
_MEMBER = r"<(?:cl)?init>|(?:(?!_\[[ij]\])[^;\s():/<>])+"
_JAVA_METHOD = (
    rf"(?:L(?P<class>[^;\s()]+);(?:::|\.)?|(?P<clean>[\w$]+(?:[/.][\w$+]+)+)::)(?P<method>{_MEMBER})"
    r"(?:\([^\s()]*\)(?:\[*(?:[VZBCSIJFD]|L[^;\s()]+;))?)?(?:\([^\s():]+:-?\d+\))?(?:_\[[ij]\])?"
)
_HIDDEN_CLASS = re.compile(r"[+/]0x[0-9a-f]+")
"""Part of the names of classes that are made at run time, another in every process."""


def _python(found: re.Match[str]) -> str:
    """The qualified name; that of a module, which all modules share, with the base name of its file."""
    return f"{found['name']} {base_name(found['file'])}" if found["name"] == "<module>" else found["name"]


def _v8(found: re.Match[str]) -> str:
    """Function, base name of the file and line: scripts hold many functions of one name, or of none."""
    name = found["name"] or _V8_ANONYMOUS.get(found["kind"], "(anonymous)")
    return f"{name} {base_name(found['file']) or '(eval)'}:{found['line']}"


def _java(found: re.Match[str]) -> str:
    """Class and method, also of each method that perf-map-agent's unfolding tells."""
    return re.sub(_JAVA_METHOD, _java_method, found.string)


def _java_method(found: re.Match[str]) -> str:
    name = _HIDDEN_CLASS.sub("", found["class"] or found["clean"])
    return f"{name.replace('/', '.')}.{found['method']}"


def _dotnet(found: re.Match[str]) -> str:
    """Type and method without arguments of types: instances of a generic type are one, as those of a template."""
    return re.sub(r"\[.*\]", "", f"{found['type']}.{found['name']}")


_FORMS: tuple[tuple[str, str, Callable[[re.Match[str]], str] | None], ...] = (
    ("cpython", r"py::(?P<name>.+?):(?P<file>/.*|<[^<>]*>|[^:]*\.py)$", _python),
    ("cpython", r"py::", None),
    # marks: ~ interpreted, ^ baseline, + Maglev, * TurboFan, - for any context; o on a stack, ' for one context.
    # A name may have blanks: the file begins behind the first one that a path or a line follows.
    (
        "v8js",
        r"(?P<kind>JS|LazyCompile|Function|Eval|Script):(?:o?[~^*+-]'?)?(?P<name>[^ ]*+(?: (?!/|[^ ]*:)[^ ]*+)*+) "
        r"(?:file://)?(?P<file>.*?):(?P<line>\d+)(?::\d+)?$",
        _v8,
    ),
    ("v8js", r"(?:JS|Function):(?P<name>.+)-(?:\d+|<anonymous>)-(?:liftoff|turbofan|none)$", None),
    ("v8js", r"(?:JS|LazyCompile|Function|Eval|Script|Builtin|Callback|(?:Bytecode)?Handler|RegExp|Stub)[:.]", None),
    ("jvm", r"{0}(?:(?: in |->|;){0})*$".replace("{0}", re.sub(r"\(\?P<\w+>", "(?:", _JAVA_METHOD)), _java),
    ("jvm", r"L[^;\s().]+;", None),
    (
        "jvm",
        r"[\w.$\[\]+/]+ (?P<class>[\w$+/]+(?:\.[\w$+/]+)*)\.(?P<method>[\w$]+|<(?:cl)?init>)\([\w.$\[\]+/, ]*\)$",
        lambda found: _HIDDEN_CLASS.sub("", f"{found['class']}.{found['method']}"),
    ),
    ("dotnet", r"\S.* \[[^\]\s]+\] (?P<type>[^\s():]++)::(?P<name>[^\s():]++)\(", _dotnet),
    ("dotnet", r"stub<\d+> (?P<name>\w+)<", None),
    ("php", r"TRACE-\d+\$(?P<name>.+)\$\d+$", None),
    ("php", r"JIT\$(?:\$|(?P<name>(?:[^{:]|\{[^}]*\}|::)++)(?::(?P<file>.*):(?P<line>\d+))?$)", None),
    ("beam", r"\$(?P<name>[^:]+:[^:].*/\d+)(?:-CodeInfoPrologue)?$", None),
    ("beam", r"\$[^:]+::", None),
    ("ruby", r"(?:\[JIT\] |zjit::)(?P<name>.+)$", None),
    # LuaJIT, Julia, Dart
    (
        "native",
        r"TRACE_\d+::(?P<file>.*):(?P<line>\d+)$",
        lambda found: f"trace {base_name(found['file'])}:{found['line']}",
    ),
    ("native", r"(?:julia|japi[13]|jl?sys1?)_(?P<name>.+)_\d+$", None),
    ("native", r"\*(?P<name>[A-Za-z_].*)$", None),
)
"""Language, form, and how the function is shown: else as the group ``name`` has it, or as written without one.

The first form that a name has counts.
"""


def read_compiled_name(name: str) -> CompiledName:
    """Read the name of compiled code; one in no known form is native code of that name."""
    for language, form, show in _FORMS:
        if found := re.match(form, name):
            told = found.groupdict()
            shown = show(found) if show else told.get("name") or ""
            return CompiledName(language, shown, told.get("file") or "", min(int(told.get("line") or 0), 2**31 - 1))
    return CompiledName("native")
