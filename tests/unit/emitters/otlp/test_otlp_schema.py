"""The schema in proto/ and the numbers in otlp_schema.py are those of OpenTelemetry's own classes."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorSet

from perf2x.emitters.otlp import otlp_schema
from tests.support.otlp_profiles import pb

ROOT = Path(__file__).parents[4]
CLASSES = {
    name: found
    for name, found in inspect.getmembers(otlp_schema, inspect.isclass)
    if found.__module__ == otlp_schema.__name__
}
MESSAGES = sorted(CLASSES)


def reachable(descriptor: Descriptor, found: dict[str, Descriptor]) -> dict[str, Descriptor]:
    """All messages that one message holds, by name."""
    if descriptor.name not in found:
        found[descriptor.name] = descriptor
        for field in descriptor.fields:
            if field.message_type is not None:
                reachable(field.message_type, found)
    return found


THEIRS = reachable(pb.ProfilesData.DESCRIPTOR, {})


@pytest.mark.parametrize("name", MESSAGES)
def test_fields_that_are_written(name: str) -> None:
    fields = {member: number for member, number in vars(CLASSES[name]).items() if member.isupper()}
    assert fields
    theirs = THEIRS[name].fields_by_name
    assert fields == {member: theirs[member.lower()].number for member in fields}


def compiled(folder: Path) -> list[DescriptorProto]:
    pytest.importorskip("grpc_tools", reason="grpcio-tools is not installed (pip install 'perf2x[dev]')")
    out, source = folder / "out", f"profiles_{otlp_schema.VERSION}.proto"
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{ROOT / 'proto'}", f"--descriptor_set_out={out}", source]
    subprocess.run(command, check=True)
    return list(FileDescriptorSet.FromString(out.read_bytes()).file[0].message_type)


def test_the_schema_in_the_repository(tmp_path: Path) -> None:
    messages = compiled(tmp_path)
    assert {message.name for message in messages} == THEIRS.keys() - {"EntityRef"}
    for message in messages:
        theirs = {field.name: field for field in THEIRS[message.name].fields if field.name != "entity_refs"}
        assert {field.name for field in message.field} == theirs.keys()
        for field in message.field:
            other = theirs[field.name]
            label = FieldDescriptor.LABEL_REPEATED if other.is_repeated else FieldDescriptor.LABEL_OPTIONAL
            assert (field.number, field.type, field.label) == (other.number, other.type, label)
            assert field.type_name.rpartition(".")[2] == (other.message_type.name if other.message_type else "")
