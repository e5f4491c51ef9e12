"""Answers of servers: what was refused, and why, in the server's words.

Messages: ExportProfilesServiceResponse (partial_success 1: rejected_profiles 1, error_message 2) and google.rpc.Status
(message 2), in protobuf or JSON, as the request was. Nothing in them is trusted.
"""

import json
from collections.abc import Iterator
from typing import TypeVar

from perf2x.model.printable_text import short

_LONGEST = 300
_Value = TypeVar("_Value", int, bytes)


def rejected(body: bytes, content_type: str) -> tuple[int, str]:
    """Return how many profiles were refused, and the server's remark; (0, "") for full success or no such message."""
    if content_type.startswith("application/json"):
        partial = _json(body).get("partialSuccess")
        found = partial if isinstance(partial, dict) else {}
        number, remark = found.get("rejectedProfiles", 0), found.get("errorMessage", "")
        return int(number) if str(number).isdecimal() else 0, short(str(remark), _LONGEST)
    partial_success = _last(body, 1, b"")
    number = _last(partial_success, 1, 0)
    return number, short(_last(partial_success, 2, b"").decode("utf-8", "replace"), _LONGEST)


def reason(body: bytes, content_type: str) -> str:
    """Return the message of an error; "" where there is none that can be read."""
    if content_type.startswith("application/json"):
        text = str(_json(body).get("message", ""))
    elif content_type.startswith("application/x-protobuf"):
        text = _last(body, 2, b"").decode("utf-8", "replace")
    else:
        text = body[: 4 * _LONGEST].decode("utf-8", "replace") if content_type.startswith("text/plain") else ""
    return short(text.strip(), _LONGEST)


def _json(body: bytes) -> dict[str, object]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _last(message: bytes, field: int, default: _Value) -> _Value:
    """Return the last value of a field; the default where it is missing or of another kind."""
    values = [value for number, value in _fields(message) if number == field]
    return next((value for value in reversed(values) if isinstance(value, type(default))), default)


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield fields of numbers and of bytes, up to the first byte that is no field."""
    place = 0
    while place < len(message):
        tag, place = _varint(message, place)
        value, place = _varint(message, place)
        if tag & 7 == 2 and place + value <= len(message):
            yield tag >> 3, message[place : place + value]
            place += value
        elif tag & 7 == 0:
            yield tag >> 3, value
        else:
            return


def _varint(message: bytes, place: int) -> tuple[int, int]:
    """Return a number and the place behind it; a number that does not end has all that is there."""
    value = 0
    for shift in range(0, 70, 7):
        if place >= len(message):
            break
        octet = message[place]
        place += 1
        value |= (octet & 127) << shift
        if octet < 128:
            break
    return value, place
