"""A stand-in for msgspec where it has no wheel (Pyodide 0.27), made of dataclasses: enough for conversions."""

import dataclasses
import json as _json
import sys
import types


class DecodeError(ValueError):
    pass


class ValidationError(DecodeError):
    pass


def field(*, default=dataclasses.MISSING, default_factory=dataclasses.MISSING, name=None):
    return dataclasses.field(default=default, default_factory=default_factory)


class _StructMeta(type):
    def __new__(cls, name, bases, namespace, *, frozen=None, eq=True, kw_only=False, **rest):
        made = super().__new__(cls, name, bases, namespace)
        made._frozen = frozen = any(getattr(base, "_frozen", False) for base in bases) if frozen is None else frozen
        if not bases:
            return made
        for key, value in namespace.items():
            if isinstance(value, list | dict | set) and key in namespace.get("__annotations__", {}):
                setattr(made, key, dataclasses.field(default_factory=value.copy))
        hashed = frozen and eq and "__hash__" not in namespace
        dataclasses.dataclass(eq=eq, kw_only=kw_only, unsafe_hash=hashed)(made)
        fields = dataclasses.fields(made)
        made.__struct_fields__ = tuple(each.name for each in fields)
        made.__struct_defaults__ = tuple(each.default for each in fields if each.default is not dataclasses.MISSING)
        return made


class Struct(metaclass=_StructMeta):
    pass


def defstruct(name, fields, *, frozen=False):
    namespace = {"__annotations__": {}, "__module__": __name__}
    for key, kind, *default in fields:
        namespace["__annotations__"][key] = kind
        namespace.update({key: default[0]} if default else {})
    return _StructMeta(name, (Struct,), namespace, frozen=frozen)


def asdict(value):
    return {name: getattr(value, name) for name in value.__struct_fields__}


def to_builtins(value):
    if isinstance(value, Struct):
        return {name: to_builtins(each) for name, each in asdict(value).items()}
    if isinstance(value, dict):
        return {key: to_builtins(each) for key, each in value.items()}
    return [to_builtins(each) for each in value] if isinstance(value, list | tuple) else value


def _decode(data, type=None):
    try:
        return _json.loads(data)
    except ValueError as error:
        raise DecodeError(str(error)) from None


def _no_decode(data, type=None):
    raise DecodeError("a stand-in cannot read what it wrote")


structs, json, msgpack = (types.ModuleType(f"msgspec.{name}") for name in ("structs", "json", "msgpack"))
structs.replace, structs.asdict = dataclasses.replace, asdict
json.decode, json.encode = _decode, lambda value: _json.dumps(to_builtins(value)).encode()
msgpack.decode, msgpack.encode = _no_decode, lambda value: b""
sys.modules |= {"msgspec.structs": structs, "msgspec.json": json, "msgspec.msgpack": msgpack}
