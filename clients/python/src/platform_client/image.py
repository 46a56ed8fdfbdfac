"""Images: those to upload, and those that the server has."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from platform_client.gen.platform.app.data.v1 import data_pb2 as pb
from platform_client.times import time_field, timestamp

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from datetime import datetime


@dataclass(frozen=True)
class Box:
    """A box in an image; edges as a share of width and height, 0 ≤ min < max ≤ 1.

    Attributes:
        label: What is in it.
        x_min: Left edge.
        y_min: Upper edge.
        x_max: Right edge.
        y_max: Lower edge.
        confidence: 0..1; None for boxes that a user drew.
        id: Given by the server.
    """

    label: str
    x_min: float
    y_min: float
    x_max: float
    y_max: float
    confidence: float | None = None
    id: str = ""


@dataclass(frozen=True)
class ImageUpload:
    """An image to upload.

    Attributes:
        content: The file (JPEG, PNG, WebP) as bytes, or its path.
        tags: Labels of the whole image.
        boxes: Labelled boxes in it.
        file_name: Default: that of the path.
        file_extension: For example ``.jpg``. Default: that of the path, or what the first bytes tell.
        mime_type: Default: by the extension.
        taken_at: Default: now. A time without a zone is in the local zone.
        upload_id: Names this upload: sent again under the same ID, it is stored once. Default: one of its own.
        store_any_file: Store other files, too; no training uses them. Default: the server refuses all but JPEG, PNG
            and WebP images of at most 100 megapixels (IMAGE_NOT_USABLE).
    """

    content: bytes | str | os.PathLike[str] = field(repr=False)
    tags: Sequence[str] = ()
    boxes: Sequence[Box] = ()
    file_name: str = ""
    file_extension: str = ""
    mime_type: str = ""
    taken_at: datetime | None = None
    upload_id: str = ""
    store_any_file: bool = False

    def read(self) -> bytes:
        """The file."""
        return self.content if isinstance(self.content, bytes) else Path(self.content).read_bytes()

    def named(self) -> tuple[str, str]:
        """Name and extension of the file."""
        if isinstance(self.content, bytes):
            return self.file_name, self.file_extension or _extension(self.content)
        path = Path(self.content)
        return self.file_name or path.name, self.file_extension or path.suffix


@dataclass(frozen=True)
class Filter:
    """Which data: all that is given must match; of a list, any of its values.

    Attributes:
        dataset_id: Members of this dataset.
        tags: Images with one of these tags.
        is_tagged: True: with any tag; False: with none. Not together with ``tags``.
        bbox_labels: Images with a box of one of these labels.
        part_id: Taken by this machine part.
        machine_id: Taken by this machine.
        component_name: Taken by this component.
        mime_types: For example ``image/jpeg``.
        location_ids: In these locations.
        organization_ids: In these organizations.
        since: Taken at or after.
        until: Taken before.
    """

    dataset_id: str = ""
    tags: Sequence[str] = ()
    is_tagged: bool | None = None
    bbox_labels: Sequence[str] = ()
    part_id: str = ""
    machine_id: str = ""
    component_name: str = ""
    mime_types: Sequence[str] = ()
    location_ids: Sequence[str] = ()
    organization_ids: Sequence[str] = ()
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True)
class BinaryData:
    """An image or file that the server has.

    Attributes:
        binary_data_id: ``<organization ID>/<location ID>/<file ID>``: its identity; pass it back as it is.
        file_name: As it was sent.
        file_extension: For example ``.jpg``.
        mime_type: For example ``image/jpeg``.
        size_bytes: Size of the file.
        tags: Labels of the whole image.
        boxes: Labelled boxes.
        classifications: Label and confidence (None: unknown) that a machine found.
        dataset_ids: The datasets that it is in.
        part_id: The machine part that it came from; empty: a user uploaded it.
        component_name: The camera.
        taken_at: When it was taken.
        uri: Where to download the file.
        content: The file, if it was requested.
    """

    binary_data_id: str
    file_name: str
    file_extension: str
    mime_type: str
    size_bytes: int
    tags: tuple[str, ...]
    boxes: tuple[Box, ...]
    classifications: tuple[tuple[str, float | None], ...]
    dataset_ids: tuple[str, ...]
    part_id: str
    component_name: str
    taken_at: datetime | None
    uri: str
    content: bytes | None = field(repr=False)


def box_to(box: Box) -> pb.BoundingBox:
    """A box as the server takes it."""
    return pb.BoundingBox(
        label=box.label,
        x_min_normalized=box.x_min,
        y_min_normalized=box.y_min,
        x_max_normalized=box.x_max,
        y_max_normalized=box.y_max,
        confidence=box.confidence,
    )


def _box_from(box: pb.BoundingBox) -> Box:
    return Box(
        label=box.label,
        x_min=box.x_min_normalized,
        y_min=box.y_min_normalized,
        x_max=box.x_max_normalized,
        y_max=box.y_max_normalized,
        confidence=box.confidence if box.HasField("confidence") else None,
        id=box.id,
    )


def filter_to(given: Filter) -> pb.Filter:
    """A filter as the server takes it."""
    made = pb.Filter(
        dataset_id=given.dataset_id,
        bbox_labels=given.bbox_labels,
        part_id=given.part_id,
        robot_id=given.machine_id,
        component_name=given.component_name,
        mime_type=given.mime_types,
        location_ids=given.location_ids,
        organization_ids=given.organization_ids,
    )
    if given.tags:
        made.tags_filter.type = pb.TAGS_FILTER_TYPE_MATCH_BY_OR
        made.tags_filter.tags.extend(given.tags)
    elif given.is_tagged is not None:
        made.tags_filter.type = pb.TAGS_FILTER_TYPE_TAGGED if given.is_tagged else pb.TAGS_FILTER_TYPE_UNTAGGED
    if given.since is not None:
        made.interval.start.CopyFrom(timestamp(given.since))
    if given.until is not None:
        made.interval.end.CopyFrom(timestamp(given.until))
    return made


def binary_data_from(message: pb.BinaryData, *, with_content: bool) -> BinaryData:
    """A datum as the server sent it."""
    about = message.metadata
    found = about.annotations.classifications
    return BinaryData(
        binary_data_id=about.binary_data_id,
        file_name=about.file_name,
        file_extension=about.file_ext,
        mime_type=about.capture_metadata.mime_type,
        size_bytes=about.file_size_bytes,
        tags=tuple(about.capture_metadata.tags),
        boxes=tuple(_box_from(box) for box in about.annotations.bboxes),
        classifications=tuple((one.label, one.confidence if one.HasField("confidence") else None) for one in found),
        dataset_ids=tuple(about.dataset_ids),
        part_id=about.capture_metadata.part_id,
        component_name=about.capture_metadata.component_name,
        taken_at=time_field(about, "time_requested"),
        uri=about.uri,
        content=message.binary if with_content else None,
    )


def _extension(content: bytes) -> str:
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return ".png"
    if content.startswith(b"\xff\xd8\xff"):
        return ".jpg"
    return ".webp" if content[:4] == b"RIFF" and content[8:12] == b"WEBP" else ""
