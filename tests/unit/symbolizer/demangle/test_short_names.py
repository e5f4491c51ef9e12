"""Short names say what tells functions of the source apart, and nothing else.

For 447,949 C++ names of 48 libraries and programs they were those of the demangler in pprof
(github.com/ianlancetaylor/demangle without parameters and template arguments), once the marks of what was left out and
its spelling of lambdas, thunks and ``f()::x`` were made alike: all but 6. Those are destructors and constructors of
unnamed types, and ``f() &&::x``.
"""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf2x.symbolizer.demangle.brackets import abbreviate, abbreviate_by_token
from perf2x.symbolizer.demangle.demangle import _printed_by_llvm, full_name, short_name
from perf2x.symbolizer.demangle.rust_names import short_rust
from perf2x.symbolizer.demangle.short_cxx_names import short_by_llvm, short_cxx

STORED = [line.split("\t") for line in (Path(__file__).parents[1] / "data/names.tsv").read_text("utf-8").splitlines()]


@pytest.mark.parametrize(
    ("mangled", "short"),
    [
        ("_ZNSt10_HashtableIiiSaIiEE19_M_find_before_nodeEmRKim", "std::_Hashtable<…>::_M_find_before_node"),
        ("_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc", "std::operator<< <…>"),
        ("_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6appendEPKc", "std::__cxx11::basic_string<…>::append"),
        ("_Z3barIiEPFvT_ES0_", "bar<…>"),
        ("_ZNK3FooIcEcvT_IiEEv", "Foo<…>::operator int<…>"),
        ("_ZN1A1fB5cxx11Ev", "A::f"),
        ("_ZN12_GLOBAL__N_13fooIiEEvi.part.0", "(anonymous namespace)::foo<…> [clone .part.0]"),
        ("_ZThn16_N1AIiE1fEi", "non-virtual thunk to A<…>::f"),
        # lambdas are named after the function that they stand in; clang numbers them through the file
        ("_ZZ4mainENKUlvE_clEv", "main::{lambda#1}"),
        ("_ZZ4mainENKUliE0_clEi", "main::{lambda#2}"),
        ("_ZZ4mainENKUlT_E_clIiEEDaS_", "main::{lambda#1}"),
        ("_ZZ4mainENK3$_1clIidEEDaT_T0_", "main::{lambda$1}"),
        ("_ZZ4workIiEvT_ENKUlvE_clEv", "work<…>::{lambda#1}"),
        ("_ZZZ4workIiEvT_ENKUlvE_clEvENKUliE0_clEi", "work<…>::{lambda#1}::{lambda#2}"),
        ("_ZZN1A4workEiENUlPvE_4_FUNES0_", "A::work::{lambda#1}::_FUN"),
        ("_ZZN1A4workEiENKUlPFvPFvvEEE_clES3_", "A::work::{lambda#1}"),
        ("_ZNKUlvE_clEv", "{lambda#1}"),
        ("_ZN3$_0clEv", "{lambda$0}"),
        ("_ZZN1AclEiE1x", "A::operator()::x"),
        ("_Z3runIZ4mainEUlvE_Evv", "run<…>"),
        # operators that look like brackets
        ("_ZltIiEbRK1AIiES3_", "operator< <…>"),
        ("_ZssRK1AS1_", "operator<=>"),
        ("_ZN1AIiEptEv", "A<…>::operator->"),
        ("_ZN1AIiErsERi", "A<…>::operator>>"),
        ("_ZNK1AIiEltERKS0_", "A<…>::operator<"),
        ("_ZN1AclIiEEvT_", "A::operator()<…>"),
        ("_ZN1BILb1EE1fEv", "B<…>::f"),
        ("_Z1fILi1EENSt9enable_ifIXgtT_Li0EEvE4typeEv", "f<…>"),
        ("_Z4swapILi3EENSt9enable_ifIXaageT_Li2EltT_Li9EEvE4typeEPv", "swap<…>"),
        # Rust
        ("_RINvNtC3std3mem8align_ofdE", "std::mem::align_of<…>"),
        ("_ZN4core3ptr42drop_in_place$LT$alloc..string..String$GT$17h1234567890abcdefE", "core::ptr::drop_in_place<…>"),
        ("_ZN50_$LT$T$u20$as$u20$core..convert..Into$LT$U$GT$$GT$4into17h1234567890abcdefE",
         "<T as core::convert::Into<…>>::into"),
        ("_ZN4core3fmt3num59_$LT$impl$u20$core..fmt..Debug$u20$for$u20$Vec$LT$T$GT$$GT$3fmt17h1234567890abcdefE",
         "core::fmt::num::<impl core::fmt::Debug for Vec<…>>::fmt"),
        ("_ZN3std2rt10lang_start28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE",
         "std::rt::lang_start::{{closure}}"),
        ("_ZN4core3ops8function6FnOnce40call_once$u7b$$u7b$vtable.shim$u7d$$u7d$17h0123456789abcdefE",
         "core::ops::function::FnOnce::call_once{{vtable.shim}}"),
        # Go writes [...] itself, in .gopclntab
        ("main.Map[go.shape.int,go.shape.[]string].func1", "main.Map[...].func1"),
        ("slices.Sort[go.shape.struct { X [4]int },[]int]", "slices.Sort[...]"),
        ("main.(*List[go.shape.int]).Push", "main.(*List[...]).Push"),
        ("github.com/a/b/v2.(*T).Run", "github.com/a/b/v2.(*T).Run"),
        ("crypto/rand.Read", "crypto/rand.Read"),
        # neither
        ("$s4main3fooyyF", "main.foo() -> ()"),
        ("foo[1]<int>(char)", "foo[1]<int>(char)"),
    ],
)  # fmt: skip
def test_names_are_shortened(mangled, short) -> None:
    assert short_name(mangled) == short


@pytest.mark.parametrize(
    ("full", "short"),
    [
        ("<fn(u8) -> a::Vec<u8> as core::ops::Fn<(u8,)>>::call", "<fn(u8) -> a::Vec<…> as core::ops::Fn<…>>::call"),
        ("f::<fn(A<u8>) -> B<u8>>::{closure#0}", "f<…>::{closure#0}"),
        ("<&mut A<T> as B>::f::<{closure}>", "<&mut A<…> as B>::f<…>"),
        ("<[A<u8>; 3]>::f", "<[A<…>; 3]>::f"),
        ("<A as B>::f::{closure#0}::g::<C>", "<A as B>::f::{closure#0}::g<…>"),
        ("a::" * 9 + "b::<" + "A<" * 40 + "u8" + ">" * 41 + "::c", "a::" * 9 + "b<…>::c"),
    ],
)  # fmt: skip
def test_generic_arguments_of_rust_are_abbreviated(full, short) -> None:
    assert short_rust(full) == short


def test_lists_of_any_depth_and_length_are_abbreviated() -> None:
    for levels in (1, 11, 12, 13, 14, 200, 5000):
        assert abbreviate("f<" * levels + "int" + " >" * levels + "::g") == "f<…>::g"


def test_stored_lists_are_abbreviated_alike_in_both_ways() -> None:
    """The regular expression, which is quick, and the reading by token, which knows operators."""
    texts = [full for mangled, full, *_ in STORED if mangled.startswith("_Z")]
    assert sum("<" in text for text in texts) > 100
    assert [abbreviate(text) for text in texts] == [abbreviate_by_token(text) for text in texts]


LISTS = st.recursive(
    st.sampled_from(["int", "A", "void (int)", "(E)3", "", "decltype((x)->y)", "{lambda(int)#1}", "char [3]"]),
    lambda inner: st.lists(inner, max_size=3).map(lambda parts: "B<" + ", ".join(parts) + " >"),
    max_leaves=8,
)


@given(st.lists(st.tuples(st.sampled_from(["ns", "operator()", "operator==", "~T"]), LISTS), min_size=1, max_size=3))
def test_balanced_lists_are_abbreviated_as_they_were_made(parts) -> None:
    text = "::".join(f"{name}<{inner} >" for name, inner in parts)
    assert abbreviate(text) == "::".join(f"{name}<…>" for name, _ in parts)
    assert abbreviate_by_token(text) == abbreviate(text)


@given(st.text(alphabet="ab<>(){}:,- &#1$_", max_size=60))
def test_any_text_is_shortened_or_returned(text) -> None:
    for readable in (text, f"operator<<{text}", f"f::{{lambda({text})#1}}::operator()()"):
        assert len(short_cxx(readable)) <= len(readable) + readable.count("<>") and isinstance(
            short_rust(readable), str
        )


def without_quick_way(printed, monkeypatch) -> str:
    monkeypatch.setattr("perf2x.symbolizer.demangle.short_cxx_names._PLAIN_FUNCTION", re.compile("(?!)"))
    return short_by_llvm(printed)


@pytest.mark.parametrize(
    "printed",
    [
        "f()", "unsigned long a::f<int>(char, b<c, d>)", "a::b<c>& a::~b(int) const", "virtual thunk to a::f()",
        "non-virtual thunk to a<b>::~a()", "TLS wrapper function for a::f(int)", "f[abi:x](int)", "f(int) const &",
        "void (*f(int))(char)", "a f(b (*)(c))", "void a::operator new(int)", "f(int)::g(char)", "f(int) requires g(b)",
        "guard variable for f(int)::x", "decltype(a(b)) f<c>(d)", "a<(b)3>::c(d)", "a", "f(a", "f)", "int f(a b) (c)",
        "to f<a>(int)", "a to<b> f()", "f(a for b)", "initializer for f()", "a::friend f()", "unfriend f(int)", " f()",
    ],
)  # fmt: skip
def test_plain_functions_are_read_alike_in_both_ways(printed, monkeypatch) -> None:
    assert short_by_llvm(printed) == without_quick_way(printed, monkeypatch)


def test_stored_names_are_read_alike_in_both_ways(monkeypatch) -> None:
    pytest.importorskip("pycxxfilt")
    printed = [text for name, *_ in STORED if name.startswith("_Z") and (text := _printed_by_llvm(name))]
    quick = [short_by_llvm(text) for text in printed]
    assert sum(map(bool, quick)) > 100
    assert quick == [without_quick_way(text, monkeypatch) for text in printed]


def test_short_names_are_shorter_and_never_empty() -> None:
    for mangled, full, _, short in STORED:
        assert full_name(mangled) == full
        assert 0 < len(short) <= len(full) + full.count("<>")
