"""Addresses of servers, and what each kind of profile is posted to.

Sources of truth: docs/specification.md of opentelemetry-proto (OTLP/HTTP); pkg/ingester/pyroscope/ingest_handler.go of
grafana/pyroscope for ``/ingest``, which takes pprof with name and time in the query; pkg/server/server.go of
parca-dev/parca, which has its HTTP gateway below ``/api``.
"""

from collections.abc import Mapping
from urllib.parse import SplitResult, urlencode, urlsplit, urlunsplit

from msgspec import Struct

from perf2x.base.errors import OptionError
from perf2x.model.profile.profile import Profile

_OTLP_PATH, _PYROSCOPE_PATH, _PARCA_PATH = "/v1development/profiles", "/ingest", "/api/profiles/writeraw"
_PARCA = "parca+"
_CONTENT_TYPES = {
    "otlp": "application/x-protobuf",
    "otlp-json": "application/json",
    "pprof": "application/octet-stream",
}
SENDABLE = tuple(_CONTENT_TYPES)
"""Formats that servers take."""


class Destination(Struct, frozen=True):
    """An address, and what is posted there."""

    url: str
    content_type: str
    is_otlp: bool
    is_parca: bool = False

    @property
    def shown(self) -> str:
        """The address without its query, for messages."""
        return self.url.partition("?")[0]


def destination(text: str, name: str) -> Destination:
    """Return the destination of format ``name``; OptionError for an address that is none, or a format none takes.

    Without a scheme it is https; without a path it is the protocol's own. ``parca+`` in front asks for Parca's.
    """
    if is_parca(text):
        return _parca_destination(text.removeprefix(_PARCA), name)
    if name not in _CONTENT_TYPES:
        raise OptionError(f"--send takes {', '.join(SENDABLE)}, not {name}")
    parts = _parsed(text)
    is_otlp = name != "pprof"
    return Destination(_url(parts, _OTLP_PATH if is_otlp else _PYROSCOPE_PATH), _CONTENT_TYPES[name], is_otlp)


def is_parca(text: str) -> bool:
    """Whether an address asks for Parca's protocol, which takes pprof alone."""
    return text.startswith(_PARCA)


def _parca_destination(text: str, name: str) -> Destination:
    if name != "pprof":
        raise OptionError(f"--send {_PARCA}… takes pprof, not {name}")
    return Destination(_url(_parsed(text), _PARCA_PATH), "application/json", is_otlp=False, is_parca=True)


def _url(parts: SplitResult, default: str) -> str:
    path = default if parts.path in ("", "/") else parts.path
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


def _parsed(text: str) -> SplitResult:
    if any(ord(char) <= 0x20 or ord(char) >= 0x7F for char in text):
        raise OptionError("--send: the address has a space or a character that is not ASCII")
    try:
        parts = urlsplit(text if "://" in text else f"https://{text}")
        is_address = parts.scheme in ("https", "http") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        raise OptionError(
            "--send: expected https://HOST[:PORT][/PATH], or http:// for a connection without TLS; "
            f"{_PARCA}https:// for Parca"
        )
    if parts.username is not None:
        raise OptionError("--send: no passwords in the address; OTEL_EXPORTER_OTLP_HEADERS takes an Authorization")
    return parts


def for_profile(place: Destination, profile: Profile) -> Destination:
    """Add what Pyroscope wants to know of a pprof to the address: its name, labels and time."""
    parts = urlsplit(place.url)
    if place.is_otlp or place.is_parca or parts.query or not parts.path.endswith(_PYROSCOPE_PATH):
        return place
    meta = profile.meta
    query = {"name": _pyroscope_name(profile.labels), "format": "pprof", "spyName": "perf2x"}
    if meta.wall_start_ns:
        begin = meta.wall_start_ns // 1_000_000_000
        end = -(-(meta.wall_start_ns + meta.duration_ns) // 1_000_000_000)
        query |= {"from": str(begin), "until": str(max(end, begin + 1))}
    return Destination(f"{place.url}?{urlencode(query)}", place.content_type, is_otlp=False)


def _pyroscope_name(labels: Mapping[str, str]) -> str:
    """Return ``service{key=value,…}`` of the tags; characters that would end a part become underscores."""
    names = {key: value.translate(str.maketrans("{},=", "____")) for key, value in labels.items()}
    service = names.pop("service.name", None) or names.pop("service_name", None) or "perf2x"
    listed = ",".join(f"{key.replace('.', '_')}={value}" for key, value in sorted(names.items()))
    return service + (f"{{{listed}}}" if listed else "")
