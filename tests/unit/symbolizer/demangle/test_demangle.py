"""Demangled names are those that perf and c++filt print."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perf2x.symbolizer.demangle import demangle
from perf2x.symbolizer.demangle.demangle import full_name, short_name
from perf2x.symbolizer.demangle.rust_names import rust_legacy
from perf2x.symbolizer.demangle.short_cxx_names import find_opening, short_cxx, without_parameters
from tests.support.examples import examples

# mangled name, c++filt -i, c++filt -i -p (binutils 2.47), from 48 libraries and programs: every kind of name; and the
# short name, which is that of pprof's demangler but for the marks of what was left out (test_short_names.py)
STORED = [line.split("\t") for line in (Path(__file__).parents[1] / "data/names.tsv").read_text("utf-8").splitlines()]

NAMES = [  # mangled, as c++filt -i prints it, as c++filt -i -p prints it (clones kept)
    ("_Z11thread_mainI7ComputeEPvS1_", "void* thread_main<Compute>(void*)", "thread_main<Compute>"),
    ("_ZNSt6vectorIiSaIiEE9push_backEOi", "std::vector<int, std::allocator<int> >::push_back(int&&)",
     "std::vector<int, std::allocator<int> >::push_back"),
    ("_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const", "main::{lambda()#1}::operator()"),
    ("_ZZ4mainENKUliE0_clEi", "main::{lambda(int)#2}::operator()(int) const", "main::{lambda(int)#2}::operator()"),
    ("_ZZ4mainENUt_1fEv", "main::{unnamed type#1}::f()", "main::{unnamed type#1}::f"),
    ("_ZN12_GLOBAL__N_13fooEi.part.0", "(anonymous namespace)::foo(int) [clone .part.0]",
     "(anonymous namespace)::foo [clone .part.0]"),
    ("_ZN3foo3barEv.constprop.0.cold", "foo::bar() [clone .constprop.0] [clone .cold]",
     "foo::bar [clone .constprop.0] [clone .cold]"),
    ("_Z2swImQ8integralIT_EEvRS0_S1_", "void sw<unsigned long>(unsigned long&, unsigned long&) requires "
     "integral<unsigned long>", "sw<unsigned long>"),
    ("_Z3twoIiiQaa7same_asIT_T0_Ent14floating_pointIS0_EES1_S0_PS1_",
     "int two<int, int>(int, int*) requires (same_as<int, int>)&&(!(floating_point<int>))", "two<int, int>"),
    ("_Z3varIJiilEQfraa8integralIT_EEiDpS0_", "int var<int, int, long>(int, int, long) requires "
     "((integral<int, int, long>)&&...)", "var<int, int, long>"),
    ("_ZThn16_N1A1fEv", "non-virtual thunk to A::f()", "non-virtual thunk to A::f()"),
    ("_ZTV1A", "vtable for A", "vtable for A"),
    ("_ZGVZ3foovE1x", "guard variable for foo()::x", "guard variable for foo()::x"),
    ("_ZNK3FooIcEcvT_IiEEv", "Foo<char>::operator int<int>() const", "Foo<char>::operator int<int>"),
    ("_ZN1AclEv", "A::operator()()", "A::operator()"),
    ("_ZN1AdlEPv", "A::operator delete(void*)", "A::operator delete"),
    ("_ZNSt8functionIFviEEC1Ev", "std::function<void (int)>::function()", "std::function<void (int)>::function"),
    ("_ZNKR1A1fEv", "A::f() const &", "A::f"),
    ("_Z3barIiEPFvT_ES0_", "void (*bar<int>(int))(int)", "bar<int>"),
    ("_ZN1ArsERi", "A::operator>>(int&)", "A::operator>>"),
    ("_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc",
     "std::basic_ostream<char, std::char_traits<char> >& std::operator<< <std::char_traits<char> >"
     "(std::basic_ostream<char, std::char_traits<char> >&, char const*)", "std::operator<< <std::char_traits<char> >"),
    ("_ZN1A1fB5cxx11Ev", "A::f[abi:cxx11]()", "A::f[abi:cxx11]"),
    ("_ZGTtNSt12out_of_rangeD1Ev", "transaction clone for std::out_of_range::~out_of_range()",
     "transaction clone for std::out_of_range::~out_of_range()"),
    ("_ZN1A4headEi", "A::head(int)", "A::head"),
    ("_ZN1A4h264Ev.part.0", "A::h264() [clone .part.0]", "A::h264 [clone .part.0]"),
    ("_ZN9foo4headE1hEv", "foo4headE::h()", "foo4headE::h"),
    ("_ZN4headC1Ev", "head::head()", "head::head"),
    ("_ZNSolsEDn", "std::ostream::operator<<(decltype(nullptr))", "std::ostream::operator<<"),
    ("_Z3runIZ4mainEUlT_T0_E0_Evv", "void run<main::{lambda(auto:1, auto:2)#2}>()",
     "run<main::{lambda(auto:1, auto:2)#2}>"),
    ("_Z3runIZ4workIiEvT_EUlvE_Evv", "void run<work<int>(int)::{lambda()#1}>()", "run<work<int>(int)::{lambda()#1}>"),
    ("_ZZN1A4workIiEEvT_E1x", "A::work<int>(int)::x", "A::work<int>(int)::x"),
    ("_Z3runIPiZ4mainEUlT_T0_E_EvS1_S2_S1_", "void run<int*, main::{lambda(auto:1, auto:2)#1}>"
     "(int*, main::{lambda(auto:1, auto:2)#1}, int*)", "run<int*, main::{lambda(auto:1, auto:2)#1}>"),
    ("_Z3runIPiZ4mainEUlT_E_EvS1_i", "void run<int*, main::{lambda(auto:1)#1}>(int*, int)",
     "run<int*, main::{lambda(auto:1)#1}>"),
    ("_Z4callIXadL_ZN1A3runEiEEEvv", "void call<&A::run>()", "call<&A::run>"),
    ("_Z4callIXadL_Z3runiEEEvv", "void call<&(run(int))>()", "call<&(run(int))>"),
    ("_Z4callIXadL_Z3runIlEivEEEvv", "void call<&(int run<long>())>()", "call<&(int run<long>())>"),
    ("_Z4callIXadL_Z4dataEEEvv", "void call<&data>()", "call<&data>"),
]  # fmt: skip


def stripped(mangled) -> str:
    """The name as ``c++filt -i -p`` prints it, with its clones."""
    readable, clone, clones = full_name(mangled).partition(" [clone ")
    is_cxx = mangled.startswith("_Z") and readable != mangled and not demangle._is_rust(mangled)
    return (without_parameters(readable) if is_cxx else readable) + clone + clones


def forget() -> None:
    full_name.cache_clear()
    short_name.cache_clear()


@pytest.mark.parametrize(("mangled", "full", "simple"), NAMES)
def test_cxx_names_are_demangled(mangled, full, simple) -> None:
    assert full_name(mangled) == full
    assert stripped(mangled) == simple


@pytest.mark.parametrize(
    ("mangled", "readable"),
    [
        ("_ZN4core3fmt9Formatter3pad17h1234567890abcdefE", "core::fmt::Formatter::pad"),
        (
            "_ZN3std2rt10lang_start28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE",
            "std::rt::lang_start::{{closure}}",
        ),
        ("_ZN4core3fmt9Formatter3pad17h1234567890abcdefE.llvm.123456", "core::fmt::Formatter::pad"),
        ("_RNvCs1234_7mycrate3foo", "mycrate::foo"),
        ("_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>"),
    ],
)
def test_rust_names_lose_their_hash(mangled, readable) -> None:
    assert full_name(mangled) == readable


RUST_PARTS = st.text("aZ_09.h", max_size=6) | st.sampled_from(
    ["..", "$LT$", "$GT$", "$u20$", "$u7b$$u7b$", "$RF$", "$SP$", "$BP$", "$LP$", "$RP$", "$C$", "_$", "$", "$u7f$",
     "$X$", "$u3b1$", "$u41$", "E", "4core"]
)  # fmt: skip
RUST_IDENTIFIERS = st.lists(RUST_PARTS, min_size=1, max_size=4).map("".join)


@settings(max_examples=examples(400))
@given(st.lists(RUST_IDENTIFIERS, min_size=1, max_size=4), st.sampled_from(["", ".cold", ".3463", ".a_1.b", "."]))
def test_legacy_rust_names_agree_with_the_library(parts, suffix) -> None:
    path = "".join(f"{len(part)}{part}" for part in parts)
    for name in (f"_ZN{path}17h0123456789abcdefE{suffix}", f"_ZN1{path}17h0123456789abcdefE{suffix}"):
        if readable := rust_legacy(name):
            assert readable == demangle._import_portable()(name)


def test_legacy_rust_names_do_not_load_the_library(monkeypatch) -> None:
    monkeypatch.setattr(demangle, "_import_portable", lambda: pytest.fail("50 ms to load"))
    legacy = [row for row in STORED if demangle._RUST_LEGACY.match(row[0])]
    assert len(legacy) > 5
    forget()
    assert [full_name(name) for name, *_ in legacy] == [full for _, full, *_ in legacy]
    forget()


@pytest.mark.parametrize(
    ("mangled", "short"),
    [
        ("_ZStltIcSt11char_traitsIcESaIcEEbRKNSt7__cxx1112basic_stringIT_T0_T1_EESA_", "std::operator< <…>"),
        ("_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc", "std::operator<< <…>"),
        ("_ZN1AlsEi", "A::operator<<"),
        ("_ZN1AltERKS_", "A::operator<"),
        ("_ZStssIiEbT_", "std::operator<=><…>"),
        ("_ZN1AIiEmmEv", "A<…>::operator--"),
        ("_ZNK1AIiEptEv", "A<…>::operator->"),
        ("_ZNK1AIiErsERi", "A<…>::operator>>"),
        ("_Znwm", "operator new"),
        ("_ZdaPv@plt", "operator delete[]@plt"),
        ("_ZSt14__relocate_a_1IiiENSt9enable_ifIXsrSt24__is_bitwise_relocatableIT_vE5valueEPS2_E4typeES4_S4_S4_RSaIT0_E",
         "std::__relocate_a_1<…>"),
        ("_ZmlILj1EtiE8poly_intIXT_EN11poly_resultIT0_N10if_nonpolyIT1_S4_Xsr15poly_int_traitsIS4_E7is_polyEE4typeEE4typeE"
         "ERK12poly_int_podIXT_ES2_ERKS4_", "operator*<…>"),
        ("_Z10add_friendP9tree_nodeS0_b", "add_friend"),
    ],
)  # fmt: skip
def test_usual_names_do_not_load_the_library(mangled, short, monkeypatch) -> None:
    """Every C++ program has some of them, and would pay 20 ms of each conversion for them."""
    pytest.importorskip("pycxxfilt")
    portable = demangle._import_portable()
    forget()
    monkeypatch.setattr(demangle, "_import_portable", lambda: pytest.fail("20 to 50 ms to load"))
    assert short_name(mangled) == short
    plain, at, version = demangle._split_version(mangled)
    assert short_cxx(portable(plain)) + at + version == short
    forget()


@pytest.mark.parametrize(
    "mangled",
    [
        "_ZltIN12_GLOBAL__N_11AEEbT_S2_",  # operator<<(anonymous namespace)::A> or operator<<((anonymous…
        "_Z1fIXsrSt7is_sameIT_vE4valueEEvv",  # a length that is not the name's
        "_Z1fIiENSt9enable_ifIXsrSt7is_sameIT_vE5valueEq_",
        "_ZN1AIiEF1fIiEEvv",  # A<int>::friend f or A<int>::f[friend]
    ],
)
def test_names_that_llvm_leaves_in_doubt_are_left_to_the_library(mangled) -> None:
    assert not demangle._short_by_llvm(mangled)


def test_swift_names_are_demangled() -> None:
    assert full_name("$s4main3fooyyF") == "main.foo() -> ()"


@pytest.mark.parametrize(
    "name", ["main", "_start", "_Zebra", "_RegisterClasses", "foo.part.0", "$x", "__Z", "_ZN", "?x"]
)
def test_names_that_are_not_mangled_stay_as_they_are(name) -> None:
    assert full_name(name) == short_name(name) == name


def test_versions_and_linkage_tables_keep_their_suffix() -> None:
    assert full_name("_ZnwmPv@plt") == "operator new(unsigned long, void*)@plt"
    assert short_name("_ZnwmPv@plt") == "operator new@plt"
    assert short_name("_ZNSt8ios_base4InitC1Ev@@GLIBCXX_3.4") == "std::ios_base::Init::Init@@GLIBCXX_3.4"


@given(st.text(alphabet="_ZN1234aIEbcSt<>()[] operator,*&:'@.-", max_size=60))
def test_any_text_is_demangled_or_returned(text) -> None:
    for name in ("_Z" + text, "_R" + text, text):
        assert isinstance(short_name(name), str)
    without_parameters(text)


@pytest.fixture
def no_llvm(monkeypatch) -> Iterator[None]:
    """Simulate a platform without a wheel of pycxxfilt."""
    monkeypatch.setattr(demangle, "_import_llvm", lambda: None)
    forget()
    yield
    forget()


def test_stored_names_are_demangled_as_stored() -> None:
    """Both ways of reading a name have their share."""
    forget()
    assert [[name, full_name(name), stripped(name), short_name(name)] for name, *_ in STORED] == STORED
    native = sum(bool(demangle._full_by_llvm(name)) for name, *_ in STORED)
    assert 100 < native < len(STORED) - 100
    assert sum(bool(demangle._short_by_llvm(name)) for name, *_ in STORED if name.startswith("_Z")) > native + 30


def test_stored_names_do_not_depend_on_the_native_library(no_llvm) -> None:
    assert [[name, full_name(name), stripped(name), short_name(name)] for name, *_ in STORED] == STORED


@pytest.mark.parametrize(
    ("mangled", "readable"),
    [  # c++filt 2.47 cannot read the first two, prints numbers of more than 64 bits wrong, and drops .cold of Rust
        ("_ZNSbIwSt11char_traitsIwESaIwEEC1EvQ26is_default_constructible_vIT1_E",
         "std::basic_string<wchar_t, std::char_traits<wchar_t>, std::allocator<wchar_t> >::basic_string"),
        ("_ZNSsC1EvQ26is_default_constructible_vIT1_E",
         "std::basic_string<char, std::char_traits<char>, std::allocator<char> >::basic_string"),
        ("_RNvXs8Z_Cs1_4jiffINtB6_5ri128Knn80000000000000000000000000000000_ENtNtCs8_4core3fmt7Display3fmt",
         "<jiff::ri128<-0x80000000000000000000000000000000> as core::fmt::Display>::fmt"),
        ("_RNvCs1234_7mycrate3foo.cold", "mycrate::foo.cold"),
        ("_RNvCs1234_7mycrate3foo.llvm.4711.cold", "mycrate::foo.cold"),
        ("_ZN4core3fmt9Formatter3pad17h1234567890abcdefE.cold", "core::fmt::Formatter::pad.cold"),
    ],
)  # fmt: skip
def test_names_that_gnu_cannot_read_are_demangled(mangled, readable, monkeypatch) -> None:
    assert stripped(mangled) == readable
    monkeypatch.setattr(demangle, "_import_llvm", lambda: None)
    forget()
    assert stripped(mangled) == readable
    forget()


@given(st.text("ST0_1ZIUlEvi9NXLsrcKJ.aA", max_size=40))
def test_both_libraries_agree_or_one_is_silent(text) -> None:
    """Any name that LLVM reads has the text that the portable library gives it."""
    for name in ("_Z1f" + text, "_ZN1A1f" + text, "_RNvC1a" + text):
        if native := demangle._full_by_llvm(name):
            assert native == demangle._import_portable()(name)
        if name.startswith("_Z") and (short := demangle._short_by_llvm(name)):
            assert short == short_cxx(demangle._import_portable()(name))


def test_a_name_is_read_once_whether_or_not_it_can_be_read(monkeypatch, no_llvm) -> None:
    """The styles share what a name is read as, and nothing is tried again for a name that nobody can read."""
    tried = []
    read = demangle._import_portable()
    monkeypatch.setattr(demangle, "_import_portable", lambda: lambda name: tried.append(name) or read(name))
    unreadable, readable = "_ZN1A1fEq_", "_Z1fi"
    for _ in range(2):
        assert full_name(unreadable) == short_name(unreadable) == unreadable
        assert (full_name(readable), short_name(readable)) == ("f(int)", "f")
    assert tried == [unreadable, readable]


def test_llvm_is_not_asked_twice_for_a_name_that_it_cannot_read_either(monkeypatch) -> None:
    forget()
    asked = []
    read = demangle._printed_by_llvm
    monkeypatch.setattr(demangle, "_printed_by_llvm", lambda name: asked.append(name) or read(name))
    for _ in range(3):
        assert short_name("_ZN1A1fEq_") == full_name("_ZN1A1fEq_") == "_ZN1A1fEq_"
    assert asked == ["_ZN1A1fEq_"] * 2  # once for each style
    forget()


@pytest.mark.parametrize("levels", [8, 12, 30, 3000])
def test_names_that_double_with_every_letter_cost_nothing(levels) -> None:
    """A<A<..>, A<..> >, where each level names the one before it twice."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    name = "_Z1f1AIiiE" + "".join(f"S_IS{digits[i % 36]}_S{digits[i % 36]}_E" for i in range(levels))
    start = time.process_time()
    assert len(full_name(name)) < 1 << 17
    assert len(short_name(name)) < 1 << 17
    assert time.process_time() - start < 2


def scalar_opening(text, closing) -> int:
    depth = 0
    for at in range(closing, -1, -1):
        depth += (text[at] == ")") - (text[at] == "(")
        if depth == 0:
            return at
    return -1


@given(st.text(alphabet="()a", max_size=30))
def test_the_opening_parenthesis_agrees_with_a_scan_by_letter(text) -> None:
    text += ")"
    assert find_opening(text, len(text) - 1) == scalar_opening(text, len(text) - 1)


@pytest.mark.parametrize(
    ("name", "readable"),
    [
        ("camlStdlib__List.sort_752", "Stdlib.List.sort_752"),  # OCaml 5.4 and 4.13
        ("camlStdlib__List__sort_572", "Stdlib.List.sort_572"),
        ("camlStdlib__Printf.k$27_457", "Stdlib.Printf.k'_457"),
        ("camlO.entry", "O.entry"),
        ("caml_alloc_string", "caml_alloc_string"),  # the runtime's, in C
        ("camlCase::run(int)", "camlCase::run(int)"),
        ("camlA$zz__", "A$zz__"),
    ],
)
def test_ocaml_names_are_perfs(name: str, readable: str) -> None:
    assert full_name(name) == readable and short_name(name) == readable
