"""Times on the wire and in Python."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from google.protobuf.duration_pb2 import Duration
from google.protobuf.json_format import MessageToDict
from google.protobuf.timestamp_pb2 import Timestamp

if TYPE_CHECKING:
    from google.protobuf.message import Message
    from google.protobuf.struct_pb2 import Struct


def time_field(message: Message, name: str) -> datetime | None:
    """A field of type Timestamp in UTC; None where it is absent."""
    if not message.HasField(name):
        return None
    value: Timestamp = getattr(message, name)
    return value.ToDatetime(tzinfo=timezone.utc)


def duration_field(message: Message, name: str) -> timedelta | None:
    """A field of type Duration; None where it is absent."""
    if not message.HasField(name):
        return None
    value: Duration = getattr(message, name)
    return value.ToTimedelta()


def timestamp(value: datetime) -> Timestamp:
    """A time without a zone is in the local zone."""
    made = Timestamp()
    made.FromDatetime(value.astimezone(timezone.utc))
    return made


def duration(seconds: float) -> Duration:
    """A length of time."""
    made = Duration()
    made.FromTimedelta(timedelta(seconds=seconds))
    return made


def json_object(struct: Struct) -> dict[str, Any]:
    """The content of a Struct: numbers are floats."""
    return MessageToDict(struct)
