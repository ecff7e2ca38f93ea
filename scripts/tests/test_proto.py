"""Our .proto files against the vendor's descriptors, which the PyPI package tritonclient carries compiled.

What we have must be there with the same name, number, type, label and oneof, and a message that we have must be
complete. Only whole messages and methods may be missing, and those are listed here.
"""

from pathlib import Path

from google.protobuf import descriptor_pb2
from onnx import onnx_ml_pb2
from tritonclient.grpc import model_config_pb2, service_pb2

OURS = Path(__file__).parents[2] / "orchestrator" / "triton" / "inferencepb" / "inference.binpb"

# Shared memory, traces and logs, which our code does not call.
LEFT_OUT = ("SystemSharedMemory", "CudaSharedMemory", "TraceSetting", "LogSettings")


def files_of_ours():
    files = descriptor_pb2.FileDescriptorSet()
    files.ParseFromString(OURS.read_bytes())
    return files.file


def files_of_theirs():
    for module in (model_config_pb2, service_pb2):
        file = descriptor_pb2.FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(file)
        yield file


def facts(files):
    """Every name with the properties that must agree, as a flat mapping."""
    found = {}
    for file in files:
        assert (file.package, file.syntax) == ("inference", "proto3")
        for enum in file.enum_type:
            found.update(enum_facts(enum, ""))
        for message in file.message_type:
            found.update(message_facts(message, ""))
        for service in file.service:
            for m in service.method:
                found[f"rpc {service.name}.{m.name}"] = (
                    m.input_type,
                    m.output_type,
                    m.client_streaming,
                    m.server_streaming,
                )
    return found


def enum_facts(enum, outer):
    return {f"enum {outer}{enum.name}": tuple((v.name, v.number) for v in enum.value)}


def message_facts(message, outer):
    path = outer + message.name + "."
    found = {f"message {path}": message.options.map_entry}
    for field in message.field:
        oneof = message.oneof_decl[field.oneof_index].name if field.HasField("oneof_index") else None
        found[f"field {path}{field.name}"] = (field.number, field.type, field.type_name, field.label, oneof)
    for enum in message.enum_type:
        found.update(enum_facts(enum, path))
    for nested in message.nested_type:
        found.update(message_facts(nested, path))
    return found


def left_out(name):
    return name.split(" ")[1].removeprefix("GRPCInferenceService.").startswith(LEFT_OUT)


def test_same_contract():
    ours, theirs = facts(files_of_ours()), facts(files_of_theirs())
    assert len(ours) > 400
    expected = {name: fact for name, fact in theirs.items() if not left_out(name)}
    assert ours == expected


def test_left_out_exists():
    """A name in the list that the vendor does not have is a mistake in the list."""
    theirs = facts(files_of_theirs())
    for prefix in LEFT_OUT:
        assert any(left_out(name) and prefix in name for name in theirs)


def test_onnx_is_a_part_of_the_published_format():
    """Every field and enum of modelimport/onnxpb is the same in the package onnx."""
    ours, theirs = descriptor_pb2.FileDescriptorSet(), descriptor_pb2.FileDescriptorProto()
    ours.ParseFromString((OURS.parents[2] / "modelimport" / "onnxpb" / "onnx.binpb").read_bytes())
    onnx_ml_pb2.DESCRIPTOR.CopyToProto(theirs)
    ours, theirs = onnx_facts(ours.file[0]), onnx_facts(theirs)
    assert len(ours) > 40
    assert ours == {name: theirs.get(name) for name in ours}


def onnx_facts(file):
    found = {}
    for message in file.message_type:
        found.update(message_facts(message, ""))
    return found
