"""Settings of a transfer, from the variables that OpenTelemetry's exporters read.

Source of truth: "OpenTelemetry Protocol Exporter" of the OpenTelemetry specification. Each variable
``OTEL_EXPORTER_OTLP_NAME`` gives way to ``OTEL_EXPORTER_OTLP_PROFILES_NAME``. Values of headers are secrets: no message
shows them.
"""

import re
from collections.abc import Mapping
from urllib.parse import unquote

from msgspec import Struct

from perf2x.base.errors import OptionError

_PREFIX, _SIGNAL = "OTEL_EXPORTER_OTLP_", "PROFILES_"
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_TEXT = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_OWN_HEADERS = frozenset({"content-type", "content-length", "content-encoding", "transfer-encoding", "host"})
_DEFAULT_SECONDS = 60.0


class SendSettings(Struct, frozen=True):
    """How to reach a server."""

    headers: Mapping[str, str]
    seconds: float
    """For the whole transfer, retries included."""
    compress: bool
    certificate: str
    """File with the authorities to trust; "": those of the machine."""
    client_certificate: str
    client_key: str


def send_settings(environment: Mapping[str, str]) -> SendSettings:
    """Read the variables; OptionError names one that cannot be used."""
    return SendSettings(
        _headers(environment),
        _seconds(environment),
        _compress(environment),
        _value(environment, "CERTIFICATE")[1],
        _value(environment, "CLIENT_CERTIFICATE")[1],
        _value(environment, "CLIENT_KEY")[1],
    )


def _value(environment: Mapping[str, str], name: str) -> tuple[str, str]:
    """Return the name of the variable that counts, and its value; an empty one is as good as none."""
    own, common = _PREFIX + _SIGNAL + name, _PREFIX + name
    return (own, environment[own]) if environment.get(own) else (common, environment.get(common, ""))


def _headers(environment: Mapping[str, str]) -> dict[str, str]:
    """Read ``name=value,name=value``, where values are percent-encoded."""
    variable, text = _value(environment, "HEADERS")
    found = {}
    for number, entry in enumerate((part for part in text.split(",") if part.strip()), 1):
        name, equals, value = (unquote(part, "latin-1").strip() for part in entry.partition("="))
        if not equals or not _TOKEN.fullmatch(name) or not _TEXT.fullmatch(value):
            raise OptionError(f"{variable}: entry {number} is not NAME=VALUE of a header")
        if name.lower() in _OWN_HEADERS:
            raise OptionError(f"{variable}: {name} is set by perf2x itself")
        found[name] = value
    return found


def _seconds(environment: Mapping[str, str]) -> float:
    variable, text = _value(environment, "TIMEOUT")
    if not text:
        return _DEFAULT_SECONDS
    if not text.isascii() or not text.isdigit() or not 0 < int(text) <= 86_400_000:
        raise OptionError(f"{variable}={text}: milliseconds, up to a day")
    return int(text) / 1000


def _compress(environment: Mapping[str, str]) -> bool:
    variable, text = _value(environment, "COMPRESSION")
    if text not in ("", "gzip", "none"):
        raise OptionError(f"{variable}={text}: choose from gzip, none")
    return text != "none"
