"""Print formats of tracepoints, worded as libtraceevent words them."""

import struct

import pytest

from perf2x.reader.records.format_tokens import PrintFormatError
from perf2x.reader.records.print_expressions import BYTE_ORDER, FIELD_BYTES
from perf2x.reader.records.print_format import compile_format
from perf2x.reader.records.tracepoint_decoder import parse_format, parse_tracing_data

_FIELDS = {"ip": 0x7F2A, "size": 2**64 - 16, "zero": 0, "neg": -5, "name": "eth0"}
# arrays of bytes have hexadecimal digits as their value
_FIELDS |= {"mac": bytes(range(6)).hex(), "uuid": bytes(range(0xA0, 0xB0)).hex()}
_PARTS = {
    "uuid": bytes(range(0xA0, 0xB0)),
    "mac": bytes(range(6)),
    "v4": bytes([127, 0, 0, 1]),
    "v6": bytes([0x20, 1, 0x0D, 0xB8, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1]),
    "mapped": bytes(10) + b"\xff\xff" + bytes([10, 1, 2, 3]),
    "none": bytes(16),
    "sock4": b"\2\0\0\x50" + bytes([10, 0, 0, 1]) + bytes(20),
    "sock6": b"\x0a\0\x1f\x90" + bytes(4) + bytes(15) + b"\1" + bytes(4),
    "mask": b"\x0f\x01\0\0\0\0\0\x80",
    "words": b"\1\0\2\0\3\0",
}


def _function(address: int, offset: bool) -> str:
    return ("do_it+0x2a" if offset else "do_it") if address == 0x7F2A else f"{address:#x}"


def _text(form: str, order: str = "little") -> str:
    return compile_format(form, _function, {})({**_FIELDS, FIELD_BYTES: _PARTS, BYTE_ORDER: order})


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ('"(%lx) size=0x%Lx", REC->ip, REC->size', "(7f2a) size=0xfffffffffffffff0"),
        ('"runtime=%Lu [ns]", REC->size', "runtime=18446744073709551600 [ns]"),
        ('"%Ld %d", REC->size, REC->size', "-16 -16"),
        ('"%u", (uint)REC->ip', "32554"),
        ('"%lld", (int64_t)REC->size', "-16"),
        ('"%llx %llu", (u8)REC->ip, (unsigned short)REC->neg', "2a 65531"),
        ('"%d", (__kernel_rwf_t)4 + (REC->zero)', "4"),
        ('"%#x %#x %#o", REC->zero, REC->ip, 8', "0 0x7f2a 010"),
        ('"%p %p", REC->zero, REC->ip', "(nil) 0x7f2a"),
        ("\"%c%c\", REC->zero ? 'F' : ' ', '\\n'", " \n"),
        ('"a" " b\nc"', "a b\nc"),
        ('"%d %d", REC->size == -16, REC->size != -16UL', "1 0"),
        ('"%d %d", REC->ip >= -9ULL, REC->neg < 0', "0 1"),
        ('"%llu", (0 - REC->ip) / 2', "9223372036854759531"),
        ('"%llx", (((u64)(REC)->ip << 32) | (REC)->zero)', "7f2a00000000"),
        ('"%d", __builtin_expect(!!(REC->ip), 0)', "1"),
        ('"%llx", ((struct page *)vmemmap_base) + (REC->ip)', "7f2a"),
        ('"%d %d", (long unsigned int)REC->neg > 0, (long int)REC->neg > 0', "1 0"),
        ('"%lu %lu", sizeof(u64), sizeof(unsigned char)', "8 1"),
        ('"%llu.%09llu", __print_ns_to_secs(5000000007), __print_ns_without_secs(5000000007)', "5.000000007"),
        ('"%c", __get_str(name)[1]', "t"),
        ('"%d %d %d", REC->mac[5], REC->mac[6], REC->uuid[1]', "5 0 161"),
    ],
)
def test_lengths_types_and_operators(form: str, expected: str) -> None:
    assert _text(form) == expected


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ('"%pS|%ps|%pF|%pf", REC->ip, REC->ip, REC->ip, (void *)REC->ip', "do_it+0x2a|do_it|do_it+0x2a|do_it"),
        ('"%ps %pS)", REC->zero, REC->size', "0x0 0xfffffffffffffff0)"),
        ('"%pU: x", REC->uuid', "a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf: x"),
        ('"%pUB", REC->uuid', "A0A1A2A3-A4A5-A6A7-A8A9-AAABACADAEAF"),
        ('"%pUl", REC->uuid', "a3a2a1a0-a5a4-a7a6-a8a9-aaabacadaeaf"),
        ('"%pU %pM %pI4 %pI6", REC->v4, REC->v4, REC->v6, REC->v4', "INVALIDUUID INVALIDMAC INVALIDIPv4 INVALIDIPv6"),
        ('"%pM %pm %pMF %pMR", REC->mac, REC->mac, REC->mac, REC->mac',
         "00:01:02:03:04:05 000102030405 00-01-02-03-04-05 05:04:03:02:01:00"),
        ('"%pI4 %pi4 %pI4h", REC->v4, REC->v4, REC->v4', "127.0.0.1 127.000.000.001 1.0.0.127"),
        ('"%pI6 %pI6c", REC->v6, REC->v6', "2001:0db8:0000:0000:0001:0000:0000:0001 2001:db8::1:0:0:1"),
        ('"%pi6 %pI6c %pI6c", REC->none, REC->none, REC->mapped', "0" * 32 + " :: ::ffff:10.1.2.3"),
        ('"%pISpc %pISpc %pIS", REC->sock4, __get_sockaddr(sock6), REC->sock4',
         "10.0.0.1:80 [::1]:8080 10.0.0.1"),
        ('"%*ph %*phC %*phN %2phD", 3, REC->mac, 2, REC->mac, 9, REC->mac, __get_dynamic_array(mac)',
         "00 01 02 00:01 000102030405 00-01"),
        ('"%*pbl", 64, REC->mask', "0-3,8,63"),
    ],
)  # fmt: skip
def test_pointers(form: str, expected: str) -> None:
    assert _text(form) == expected


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ('"%s", __print_array(__get_dynamic_array(words), __get_dynamic_array_len(words) / sizeof(u16), sizeof(u16))',
         "{0x1,0x2,0x3}"),
        ('"%s %s", __print_hex(REC->mac, 3), __print_hex_str(__get_rel_dynamic_array(mac), 3)', "00 01 02 000102"),
        ('"%s %s", __get_bitmask(mask), __get_rel_cpumask(mask)', "80000000,0000010f 0-3,8,63"),
        ('"%s", __print_symbolic(REC->size, { -16ULL, "minus" })', "minus"),
        ('"%s", __print_symbolic(REC->zero, { FIRST, "first" }, { SECOND, "second" })', "0x0"),
        ('"%s", __print_symbolic(REC->ip, { })', "0x7f2a"),
        ('"%s", __print_flags(10, "|", { A_FLAG, "A" }, { 2, "B" })', "B|0x8"),
        ('"%s", __print_symbolic(REC->zero, { (unsigned long)FIRST, "first" })', "0x0"),
        ('"%s", __print_flags(REC->zero, "|", { 1, "A" }, { 0, "none" })', ""),
    ],
)  # fmt: skip
def test_arrays_and_names(form: str, expected: str) -> None:
    assert _text(form) == expected


def test_the_order_of_bytes_is_the_recordings() -> None:
    form = '"%s %s", __print_array(REC->words, 1, 2), __get_cpumask(mask)'
    assert _text(form, "big") == "{0x100} 7,48,56-59"


def test_texts_of_the_kernel() -> None:
    head = b"\x17\x08\x44tracing0.6\0" + bytes([0, 8]) + struct.pack("<I", 4096)
    pages = b"header_page\0" + bytes(8) + b"header_event\0" + bytes(8) + bytes(8)
    lines = b'0x7f2a : "Start core\\n"\n0x7f2b : "End"\n'
    data = head + pages + struct.pack("<I3sI", 3, b"a T", len(lines)) + lines
    texts = parse_tracing_data(data, "<")["strings"]
    assert texts == {"0x7f2a": "Start core", "0x7f2b": "End"}
    assert compile_format('"%s %s"', _function, texts)({}) == "0 0"
    assert compile_format('"%s %s", REC->ip, REC->neg', _function, texts)({**_FIELDS, "neg": 1}) == "Start core 1"
    assert parse_tracing_data(head + pages, "<")["strings"] == {}


def test_a_print_format_has_lines() -> None:
    text = 'name: x\nID: 1\nformat:\n\nprint fmt: "a %d\n b", REC->n\n'
    assert compile_format(parse_format(text)["print"], _function, {})({"n": 1}) == "a 1\n b"


@pytest.mark.parametrize(
    "form",
    ['"%s", ({ int x = 1; x; })', '"%u", jiffies_to_msecs(REC->ip)', '"%pU", REC->ip + 1', '"%d", sizeof(thing)'],
)
def test_what_is_not_understood(form: str) -> None:
    with pytest.raises(PrintFormatError):
        compile_format(form, _function, {})
