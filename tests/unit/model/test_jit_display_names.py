"""Names that runtimes give to compiled code: languages, short names, files and lines, in time that is linear.

Those of V8, HotSpot, .NET, CPython, PHP, Erlang and wasmtime are from real perf maps; the others are as sources of the
runtimes write them.
"""

import re
import time
from pathlib import Path

import pytest

from perf2x.model.jit_display_names import JitName, parse_jit_name

WRITTEN = [
    ("JS:~work /tmp/w.js:2:14", "v8js", "work w.js:2", "/tmp/w.js", 2),
    ("JS:^work /tmp/w.js:2:14", "v8js", "work w.js:2", "/tmp/w.js", 2),
    ("JS:+work /tmp/w.js:2:14", "v8js", "work w.js:2", "/tmp/w.js", 2),
    ("JS:*work /tmp/w.js:2:14", "v8js", "work w.js:2", "/tmp/w.js", 2),
    ("JS:+'work /tmp/w.js:2:14", "v8js", "work w.js:2", "/tmp/w.js", 2),
    ("JS:*'work /tmp/w.js:2:14", "v8js", "work w.js:2", "/tmp/w.js", 2),
    ("JS:o+work /tmp/w.js:2:14", "v8js", "work w.js:2", "/tmp/w.js", 2),
    ("JS:o*'work /tmp/w.js:2:14", "v8js", "work w.js:2", "/tmp/w.js", 2),
    ("JS:-work /tmp/w.js:2:14", "v8js", "work w.js:2", "/tmp/w.js", 2),
    ("JS:once /tmp/w.js:2:14", "v8js", "once w.js:2", "/tmp/w.js", 2),
    ("JS:+'#priv /tmp/w.js:1:113", "v8js", "#priv w.js:1", "/tmp/w.js", 1),
    ("JS:^get twice /tmp/w.js:1:50", "v8js", "get twice w.js:1", "/tmp/w.js", 1),
    ("JS:~some name here /tmp/my dir/w.js:1:5", "v8js", "some name here w.js:1", "/tmp/my dir/w.js", 1),
    ("JS:~get my own.js:1:5", "v8js", "get my own.js:1", "own.js", 1),
    ("JS:o+ev :1:13", "v8js", "ev (eval):1", "", 1),
    ("JS:^ :1:1", "v8js", "(anonymous) (eval):1", "", 1),
    ("JS:~ ext:deno_node/_utils.ts:1:32", "v8js", "(anonymous) _utils.ts:1", "ext:deno_node/_utils.ts", 1),
    ("JS:wasm-function[0]-0-liftoff", "v8js", "wasm-function[0]", "", 0),
    ("Function:fib-12-turbofan", "v8js", "fib", "", 0),
    ("BytecodeHandler:Exp.ExtraWide", "v8js", "", "", 0),
    (r"RegExp.> src: '\d+' flags: 'g'", "v8js", "", "", 0),
    ("boolean T$$Lambda$247/0x00007f8b50154d30.test(java.lang.Object)", "jvm", "T$$Lambda$247.test", "", 0),
    ("java.lang.Comparable T.max(java.util.List)", "jvm", "T.max", "", 0),
    ("Lcom/acme/A;::run", "jvm", "com.acme.A.run", "", 0),
    ("Lcom.acme.A;::run(ILjava/lang/String;)V", "jvm", "com.acme.A.run", "", 0),
    ("com/acme/A::<init>(I)V(A.java:12)_[j]", "jvm", "com.acme.A.<init>", "", 0),
    ("com.acme.A$1::lambda$run$0_[i]", "jvm", "com.acme.A$1.lambda$run$0", "", 0),
    ("La/A;::run->Lb/B;::get-impl", "jvm", "a.A.run->b.B.get-impl", "", 0),
    ("Lb/B;::get in La/A;::run", "jvm", "b.B.get in a.A.run", "", 0),
    ("std::sort", "native", "", "", 0),
    ("int32 [T] Acme.App.Program::Main()", "dotnet", "Acme.App.Program.Main", "", 0),
    ("int32 [T] Acme.App.P`1[System.Int32]::St(int32[])[Optimized]", "dotnet", "Acme.App.P`1.St", "", 0),
    (
        "instance class [mscorlib]System.Collections.Generic.IEnumerator`1<int32> [T] "
        "Acme.App.Program+<Gen>c__Iterator1::System.Collections.Generic.IEnumerable<int>.GetEnumerator()[QuickJitted]",
        "dotnet",
        "Acme.App.Program+<Gen>c__Iterator1.System.Collections.Generic.IEnumerable<int>.GetEnumerator",
        "",
        0,
    ),
    (
        "instance void [System.Linq] System.Linq.Enumerable+SelectArrayIterator`2[System.Int32,System.Int32]"
        "::.ctor(!0[],class [System.Runtime]System.Func`2<!0,!1>)",
        "dotnet",
        "System.Linq.Enumerable+SelectArrayIterator`2..ctor",
        "",
        0,
    ),
    ("stub<2> AllocateTemporaryEntryPoints<PRECODE_FIXUP>", "dotnet", "AllocateTemporaryEntryPoints", "", 0),
    ("py::main:/srv/tool.py", "cpython", "main", "/srv/tool.py", 0),
    (r"TRACE-1$App\Math\work$4", "php", r"App\Math\work", "", 0),
    ("TRACE-8${closure:/srv/t.php:5}$5", "php", "{closure:/srv/t.php:5}", "", 0),
    ("JIT${closure:/srv/t.php:5}:/srv/t.php:5", "php", "{closure:/srv/t.php:5}", "/srv/t.php", 5),
    (r"JIT$App\Math\P::area", "php", r"App\Math\P::area", "", 0),
    ("JIT$$trace_exit", "php", "", "", 0),
    ("$erl_init:run/3-CodeInfoPrologue", "beam", "erl_init:run/3", "", 0),
    ("$application:'-start/3-lc$^0/1-0-'/1", "beam", "application:'-start/3-lc$^0/1-0-'/1", "", 0),
    ("$global::bif_export_trap", "beam", "", "", 0),
    ("[JIT] Integer#times", "ruby", "Integer#times", "", 0),
    ("zjit::fib", "ruby", "fib", "", 0),
    ("TRACE_3::/srv/app.lua:40", "native", "trace app.lua:40", "/srv/app.lua", 40),
    ("julia_work_1234", "native", "work", "", 0),
    ("japi1_#f#5_7", "native", "#f#5", "", 0),
    ("jlsys_print_12", "native", "print", "", 0),
    ("jfptr_work_9", "native", "", "", 0),
    ("*dart:core_List_add", "native", "dart:core_List_add", "", 0),
    ("wasm[0]::function[2]", "native", "", "", 0),
    ("my odd::name<int>(int)", "native", "", "", 0),
]


@pytest.mark.parametrize("row", WRITTEN, ids=lambda row: row[0])
def test_names_are_read(row) -> None:
    assert parse_jit_name(row[0]) == JitName(*row[1:])


def test_the_documentation_shows_the_same() -> None:
    """Each written name in the table of docs/symbols.md becomes what is next to it."""
    text = Path(__file__).parents[3].joinpath("docs/symbols.md").read_text()
    rows = re.findall(r"^\|(.*?)\| (.*) \| (.*) \|$", text.partition("### Names of JIT-compiled code")[2], re.MULTILINE)
    checked = 0
    for _, written, shown in rows:
        shorts = set(re.findall(r"``?(.+?)``?(?=[, ]|$)", shown))
        for name in re.findall(r"``?(.+?)``?(?=, |$)", written):
            assert (parse_jit_name(name).display_name or name) in shorts | {name} and (
                parse_jit_name(name).display_name or "as written" in shown
            ), name
            checked += 1
    assert checked > 30


LONG = [
    "JS:*" + "a " * 50_000, "JS:*" + ":1" * 50_000, "JS:*f " + "/" * 100_000 + ":1:1x", "JS:" + "-0-" * 40_000,
    "L" + "a/" * 50_000, "La;" * 30_000, "La;b->" * 20_000, "a." * 50_000 + "::", "La;b(" * 30_000,
    "x " + "[a] b::" * 20_000, "x [a] " + "::a" * 50_000, "TRACE-1$" + "$1" * 50_000 + "x", "JIT$" + "{" * 100_000,
    "JIT$" + ":" * 100_001, "$a:" + "/1" * 50_000 + "x", "TRACE_1::" + ":1" * 50_000 + "x", "julia_" + "_1" * 50_000,
    "py::a" + ":" * 100_000, "py::a" + ":<" * 50_000, "int " + "a." * 50_000 + "(", "int " + "a." * 50_000 + "b(" * 9,
]  # fmt: skip


@pytest.mark.parametrize("name", LONG, ids=lambda name: name[:12])
def test_long_names_take_linear_time(name) -> None:
    started = time.process_time()
    parse_jit_name(name)
    assert time.process_time() - started < 0.5
