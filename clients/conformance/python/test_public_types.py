"""The public SDK's messages and ours are the same on the wire: numbers, types, presence, names, calls."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor, FileDescriptor

FILES = [
    "app.data.v1.data",
    "app.dataset.v1.dataset",
    "app.datasync.v1.data_sync",
    "app.mltraining.v1.ml_training",
    "app.packages.v1.packages",
]

# What the public SDK may send and the server does not read.
UNREAD: set[str] = set()

# Calls that the public SDK does not have.
OWN_CALLS = {"CheckTrainingData"}


def theirs_and_ours(name: str) -> tuple[FileDescriptor, FileDescriptor]:
    theirs = importlib.import_module(f"viam.gen.{name}_pb2").DESCRIPTOR
    ours = importlib.import_module(f"platform_client.gen.platform.{name}_pb2").DESCRIPTOR
    return theirs, ours


def neutral(name: str) -> str:
    return name.removeprefix("viam.").removeprefix("platform.")


def messages(file: FileDescriptor) -> dict[str, Descriptor]:
    def inside(message: Descriptor) -> Iterator[Descriptor]:
        yield message
        for nested in message.nested_types:
            yield from inside(nested)

    found = (one for top in file.message_types_by_name.values() for one in inside(top))
    return {neutral(one.full_name): one for one in found}


def shape(field: FieldDescriptor) -> tuple[object, ...]:
    refers: Descriptor | EnumDescriptor | None = field.message_type or field.enum_type
    group = field.containing_oneof.name if field.containing_oneof else None
    named = neutral(refers.full_name) if refers else None
    return field.name, field.type, named, field.is_repeated, field.has_presence, group


def read_by_existing_clients(message: Descriptor) -> dict[int, tuple[object, ...]]:
    return {field.number: shape(field) for field in message.fields if field.number < 1000}


@pytest.mark.parametrize("name", FILES)
def test_messages(name: str) -> None:
    theirs, ours = (messages(file) for file in theirs_and_ours(name))
    compared = 0
    for message_name, message in ours.items():
        if message_name not in theirs:
            continue
        compared += 1
        known = read_by_existing_clients(theirs[message_name])
        for number, field in read_by_existing_clients(message).items():
            assert field == known.get(number), f"{message_name} {number}"
        if message_name.endswith("Request"):
            unread = {f"{message_name}.{known[number][0]}" for number in known.keys() - read_numbers(message)}
            assert unread <= UNREAD
    assert compared >= 10


def read_numbers(message: Descriptor) -> set[int]:
    return {field.number for field in message.fields}


@pytest.mark.parametrize("name", FILES)
def test_enums(name: str) -> None:
    theirs, ours = theirs_and_ours(name)
    for enum_name, enum in ours.enum_types_by_name.items():
        known = {value.name: value.number for value in theirs.enum_types_by_name[enum_name].values}
        found = {value.name: value.number for value in enum.values}
        # The documents' name for what is in progress.
        found.pop("TRAINING_STATUS_RUNNING", None)
        assert found.items() <= known.items()


@pytest.mark.parametrize("name", FILES)
def test_calls(name: str) -> None:
    theirs, ours = theirs_and_ours(name)
    for service_name, service in ours.services_by_name.items():
        known = theirs.services_by_name[service_name].methods_by_name
        for call_name, call in service.methods_by_name.items():
            if call_name in OWN_CALLS:
                assert call_name not in known
                continue
            other = known[call_name]
            assert (neutral(call.input_type.full_name), neutral(call.output_type.full_name)) == (
                neutral(other.input_type.full_name),
                neutral(other.output_type.full_name),
            )
            assert (call.client_streaming, call.server_streaming) == (other.client_streaming, other.server_streaming)
