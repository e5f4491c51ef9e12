"""Parses the names that runtimes give to JIT-compiled code: finds the language, and the function's display name.

docs/symbols.md shows the display names. The forms are those of CPython's Python/perf_trampoline.c; V8's
src/logging/log.cc and src/objects/code-kind.cc; OpenJDK's ``Method::external_name``; perf's jvmti/libjvmti.c;
perf-map-agent.c; .NET's src/coreclr/vm/perfmap.cpp; PHP's zend_jit_trace.c; OTP's beam_jit_main.cpp; LuaJIT's
lj_trace.c; Ruby's yjit/src/codegen.rs; Dart's runtime/vm/code_observers.cc; Julia's src/codegen.cpp.
"""

import re
from collections.abc import Callable

from perf2x.base.frozen_struct import Frozen
from perf2x.model.printable_text import base_name


class JitName(Frozen):
    """The parts of a function's name in a perf map or jitdump."""

    language: str
    """In the terms of OpenTelemetry's ``profile.frame.type``; "native" for engines that it does not list."""
    display_name: str = ""
    """The function's name without the compiler's marks; "" if the name is displayed unchanged."""
    file: str = ""  # source file; "" if unknown
    line: int = 0  # 0 if unknown


# Code without a name; other kinds are ``(anonymous)``.
_V8_ANONYMOUS = {"Eval": "(eval)", "Script": "(script)"}
# Name of a Java method. perf-map-agent marks inlined and compiled code with the suffixes _[i] and _[j].
_MEMBER = r"<(?:cl)?init>|(?:(?!_\[[ij]\])[^;\s():/<>])+"
# ``Lorg/Class;::method``, ``org.Class::method`` or ``org/Class::method``. A descriptor (``(I)V``), file and line
# (``(A.java:12)``), and a suffix may follow.
_JAVA_METHOD = (
    rf"(?:L(?P<class>[^;\s()]+);(?:::|\.)?|(?P<plain_class>[\w$]+(?:[/.][\w$+]+)+)::)(?P<method>{_MEMBER})"
    r"(?:\([^\s()]*\)(?:\[*(?:[VZBCSIJFD]|L[^;\s()]+;))?)?(?:\([^\s():]+:-?\d+\))?(?:_\[[ij]\])?"
)
# Suffix of generated Java classes; it differs in every process.
_HIDDEN_CLASS = re.compile(r"[+/]0x[0-9a-f]+")


def _python(found: re.Match[str]) -> str:
    return f"{found['name']} {base_name(found['file'])}" if found["name"] == "<module>" else found["name"]


def _v8(found: re.Match[str]) -> str:
    name = found["name"] or _V8_ANONYMOUS.get(found["kind"], "(anonymous)")
    return f"{name} {base_name(found['file']) or '(eval)'}:{found['line']}"


def _java(found: re.Match[str]) -> str:
    """Join class and method of each listed method (``A::b->C::d``) by a dot."""
    return re.sub(_JAVA_METHOD, _java_method, found.string)


def _java_method(found: re.Match[str]) -> str:
    name = _HIDDEN_CLASS.sub("", found["class"] or found["plain_class"])
    return f"{name.replace('/', '.')}.{found['method']}"


def _dotnet(found: re.Match[str]) -> str:
    """Instances of a generic type get one name."""
    return re.sub(r"\[.*\]", "", f"{found['type']}.{found['name']}")


# Language, regular expression, and a function that makes the display name; None: the group ``name`` or the whole name.
# The first expression that matches counts.
_FORMS: tuple[tuple[str, str, Callable[[re.Match[str]], str] | None], ...] = (
    # py::Tool.main:/srv/tool.py
    ("cpython", r"py::(?P<name>.+?):(?P<file>/.*|<[^<>]*>|[^:]*\.py)$", _python),
    ("cpython", r"py::", None),
    # JS:*work /srv/app.js:2:14. The mark before the name is the tier: "~" interpreted, "^" baseline, "+" Maglev, "*"
    # TurboFan, "-" TurboFan's code for any native context. "o" before the mark: on-stack replacement. "'" after it:
    # code for one context. A name with blanks ends at the first blank before a path or a word with a colon.
    (
        "v8js",
        r"(?P<kind>JS|LazyCompile|Function|Eval|Script):(?:o?[~^*+-]'?)?(?P<name>[^ ]*+(?: (?!/|[^ ]*:)[^ ]*+)*+) "
        r"(?:file://)?(?P<file>.*?):(?P<line>\d+)(?::\d+)?$",
        _v8,
    ),
    # WebAssembly: Function:fib-12-turbofan
    ("v8js", r"(?:JS|Function):(?P<name>.+)-(?:\d+|<anonymous>)-(?:liftoff|turbofan|none)$", None),
    ("v8js", r"(?:JS|LazyCompile|Function|Eval|Script|Builtin|Callback|(?:Bytecode)?Handler|RegExp|Stub)[:.]", None),
    # Lcom/acme/A;::run; with inlined methods La/A;::run->Lb/B;::get, or Lb/B;::get in La/A;::run. The groups of
    # _JAVA_METHOD, which occurs twice here, lose their names, because these must be unique.
    ("jvm", r"{0}(?:(?: in |->|;){0})*$".replace("{0}", re.sub(r"\(\?P<\w+>", "(?:", _JAVA_METHOD)), _java),
    ("jvm", r"L[^;\s().]+;", None),
    # boolean com.acme.A.test(java.lang.Object)
    (
        "jvm",
        r"[\w.$\[\]+/]+ (?P<class>[\w$+/]+(?:\.[\w$+/]+)*)\.(?P<method>[\w$]+|<(?:cl)?init>)\([\w.$\[\]+/, ]*\)$",
        lambda found: _HIDDEN_CLASS.sub("", f"{found['class']}.{found['method']}"),
    ),
    # int32 [T] Acme.App.Program::Main()
    ("dotnet", r"\S.* \[[^\]\s]+\] (?P<type>[^\s():]++)::(?P<name>[^\s():]++)\(", _dotnet),
    ("dotnet", r"stub<\d+> (?P<name>\w+)<", None),
    # TRACE-1$work$4, and JIT$P::area:/srv/t.php:5
    ("php", r"TRACE-\d+\$(?P<name>.+)\$\d+$", None),
    ("php", r"JIT\$(?:\$|(?P<name>(?:[^{:]|\{[^}]*\}|::)++)(?::(?P<file>.*):(?P<line>\d+))?$)", None),
    # $erl_init:run/3-CodeInfoPrologue
    ("beam", r"\$(?P<name>[^:]+:[^:].*/\d+)(?:-CodeInfoPrologue)?$", None),
    ("beam", r"\$[^:]+::", None),
    ("ruby", r"(?:\[JIT\] |zjit::)(?P<name>.+)$", None),
    # LuaJIT: TRACE_3::/srv/app.lua:40
    (
        "native",
        r"TRACE_\d+::(?P<file>.*):(?P<line>\d+)$",
        lambda found: f"trace {base_name(found['file'])}:{found['line']}",
    ),
    # Julia: julia_work_1234
    ("native", r"(?:julia|japi[13]|jl?sys1?)_(?P<name>.+)_\d+$", None),
    # Dart: *dart:core_List_add
    ("native", r"\*(?P<name>[A-Za-z_].*)$", None),
)


def parse_jit_name(name: str) -> JitName:
    """Parse the name of JIT-compiled code. A name of unknown form stays unchanged; its language is "native"."""
    for language, form, make_display_name in _FORMS:
        if found := re.match(form, name):
            parts = found.groupdict()
            display_name = make_display_name(found) if make_display_name else parts.get("name") or ""
            # lines of profiles are int32
            line = min(int(parts.get("line") or 0), 2**31 - 1)
            return JitName(language, display_name, parts.get("file") or "", line)
    return JitName("native")
