"""Judgement of the result of a damaged input: the failure, or ``None``."""

import gzip
import json
import re
import struct
import tarfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from io import BytesIO

from tests.fuzz.cases import INGEST, Case
from tests.fuzz.worker import CRASHED, Result

LARGEST = 1 << 30
"""Bytes that a command may hold for an input of less than a megabyte."""
LONGEST_MESSAGE = 20_000
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def verdict(case: Case, result: Result, seconds: float) -> str | None:
    """A short name for the trouble, the same for the same trouble; the first line that tells it apart behind it."""
    if result.seconds > seconds:
        return "hang"
    if result.code == CRASHED or "Traceback (most recent call last)" in result.err:
        return f"traceback: {_where(result.err)}"
    if result.code < 0:
        return f"signal {-result.code}"
    if result.code not in (0, 1, 2, 3):
        return f"exit code {result.code}"
    if result.memory > LARGEST:
        return "memory"
    return _messages(case, result) or _files(case, result)


def _where(err: str) -> str:
    """Return the last line of a traceback, and the source line that raised it."""
    places = re.findall(r'File ".*?(perf2x/[^"]+)", line (\d+)', err)
    last = err.strip().splitlines()[-1][:120] if err.strip() else ""
    return f"{last} at {':'.join(places[-1]) if places else '?'}"


def _messages(case: Case, result: Result) -> str | None:
    if result.code and not result.err.strip():
        return "silent failure"
    if len(result.err) > LONGEST_MESSAGE:
        return "long message"
    is_text = case.command[0] in ("top", "annotate", "info", "dump", "diff") and "--json" not in case.command
    shown = result.err + (result.out.decode("utf-8", "replace") if is_text else "")
    if found := _CONTROLS.search(shown):
        return f"control character {found[0]!r}"
    return None


def _files(case: Case, result: Result) -> str | None:
    """Check that outputs are complete or missing, and that nothing else is left behind."""
    left = [name for name in result.files if name.startswith("scratch/")]
    if case.command[0] == "view" and result.code == 0:
        return _page(case, result, left)
    if left:
        return "temporary file left"
    if result.code in (1, 2):
        return "output of a failed command" if result.files else None
    if any("out" in word for word in case.command) and not result.files:
        return "no output"
    return next((trouble for name, data in result.files.items() if (trouble := _content(case, name, data))), None)


def _page(case: Case, result: Result, left: list[str]) -> str | None:
    """Check that ``view`` leaves only a directory with the page whose path it printed."""
    pages = [name for name in left if name.endswith(".html")]
    if len(pages) != 1 or len(left) != 2:
        return "temporary file left" if len(left) > 2 else "no page"
    if not result.out.decode().strip().endswith(pages[0]):
        return "the page's path is not printed"
    return _content(case, pages[0], result.files[pages[0]])


def _content(case: Case, name: str, data: bytes) -> str | None:
    if "/_delta_log/" in name:
        return None
    if case.command[0] == INGEST[0]:
        return None if name.endswith(".parquet") else "a file that is no table"
    kind = case.command[2] if case.command[0] == "convert" else case.command[0]
    try:
        _READERS[kind](data)
    except (ValueError, KeyError, OSError, EOFError, ElementTree.ParseError, tarfile.TarError) as error:
        return f"unreadable {kind}: {type(error).__name__} {str(error)[:60]}"
    return None


def _pprof(data: bytes) -> None:
    from google.protobuf.message import DecodeError

    from perf2x.emitters.pprof import profile_pb2

    profile = profile_pb2.Profile()
    try:
        profile.ParseFromString(gzip.decompress(data))
    except DecodeError as error:
        raise ValueError(str(error)) from None
    locations = {location.id for location in profile.location}
    if any(number not in locations for sample in profile.sample for number in sample.location_id):
        raise ValueError("a location is missing")


def _perfetto(data: bytes) -> None:
    from tests.support.perfetto_trace import read_trace

    read_trace(data)


def _otlp(data: bytes) -> None:
    from tests.support.otlp_profiles import read_profiles

    read_profiles(data)


def _gcov(data: bytes) -> None:
    from tests.support.gcov_files import read_gcov

    try:
        read_gcov(data)
    except (AssertionError, IndexError, struct.error) as error:
        raise ValueError(str(error)) from None


def _collapsed(data: bytes) -> None:
    if data and not data.endswith(b"\n"):
        raise ValueError("cut")
    for line in data.decode().split("\n")[:-1]:
        stack, _, number = line.rpartition(" ")
        if not stack or int(number) < 0:
            raise ValueError(f"no stack and number: {line[:40]}")


_BOLT = re.compile(r"[TBFfS]( X:0| [0-9a-f]+){1,3}( \d+){1,2}")
_AUTOFDO = re.compile(r".+:\d+:\d+| +\d+(\.\d+)?: (\d+( .+:\d+)*|.+:\d+)| +!\w+: .*")


def _lines(pattern: re.Pattern[str]) -> Callable[[bytes], None]:
    def read(data: bytes) -> None:
        if data and not data.endswith(b"\n"):
            raise ValueError("cut")
        for line in data.decode(errors="surrogateescape").split("\n")[:-1]:
            if not pattern.fullmatch(line):
                raise ValueError(f"no such line: {line[:40]}")

    return read


def _callgrind(data: bytes) -> None:
    from tests.support.callgrind_file import read_callgrind

    read_callgrind(data)


def _tar(data: bytes) -> None:
    with tarfile.open(fileobj=BytesIO(data)) as tar:
        tar.getmembers()


def _json(data: bytes) -> None:
    json.loads(data, parse_constant=_no_constant)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _html(data: bytes) -> None:
    if not data.rstrip().endswith(b"</html>"):
        raise ValueError("cut")


_READERS: dict[str, Callable[[bytes], object]] = {
    "pprof": _pprof, "collapsed": _collapsed, "chrome": _json, "firefox": _json, "speedscope": _json,
    "bolt": _lines(_BOLT), "autofdo": _lines(_AUTOFDO), "gcov": _gcov, "callgrind": _callgrind,
    "perfetto": _perfetto, "otlp": _otlp,
    "svg": ElementTree.fromstring, "html": _html, "bundle": _tar, "view": _html,
}  # fmt: skip
