"""Images: upload, filters, pages."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import datetime, timezone
from typing import TYPE_CHECKING

import pytest
from grpclib import GRPCError, Status
from memory_server import asynchronous, refuse, serve, service

from platform_client import BinaryData, Box, Filter, ImageUpload, PlatformError
from platform_client.gen.platform.app.data.v1 import data_pb2 as pb
from platform_client.gen.platform.app.data.v1.data_grpc import DataServiceBase
from platform_client.gen.platform.app.datasync.v1 import data_sync_pb2 as sync_pb
from platform_client.gen.platform.app.datasync.v1.data_sync_grpc import DataSyncServiceBase

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


def number(request: sync_pb.DataCaptureUploadRequest) -> int:
    return request.sensor_contents[0].binary[0]


def image(n: int) -> ImageUpload:
    return ImageUpload(bytes([n]), file_extension=".jpg", tags=[f"tag{n}"])


@asynchronous
async def test_an_image_is_uploaded_with_its_metadata(tmp_path: Path) -> None:
    got: list[sync_pb.DataCaptureUploadRequest] = []

    def upload(request: sync_pb.DataCaptureUploadRequest) -> sync_pb.DataCaptureUploadResponse:
        got.append(request)
        return sync_pb.DataCaptureUploadResponse(binary_data_id="o/l/1")

    path = tmp_path / "cup 1.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n...")
    when = datetime(2026, 1, 2, tzinfo=timezone.utc)
    boxes = [Box("cup", 0.1, 0.2, 0.3, 0.4), Box("pen", 0, 0, 1, 1, confidence=0.5)]
    async with serve(service(DataSyncServiceBase, DataCaptureUpload=upload)) as server, server.client() as client:
        data = client.data_client
        full = ImageUpload(path, tags=["cup"], boxes=boxes, taken_at=when, upload_id="u1")
        assert await data.upload_image(full, part_id="p", dataset_ids=["d"], component_name="cam") == "o/l/1"
        await data.upload_image(ImageUpload(path.read_bytes()), dataset_ids=["d"])
        await data.upload_image(ImageUpload(b"\xff\xd8\xff\xe0"), dataset_ids=["d"])
        with pytest.raises(FileNotFoundError):
            await data.upload_image(ImageUpload(str(tmp_path / "missing.jpg")), dataset_ids=["d"])
    about, sensor = got[0].metadata, got[0].sensor_contents[0]
    assert (about.part_id, about.component_name, about.file_name, about.file_extension, about.upload_id) == (
        "p",
        "cam",
        "cup 1.png",
        ".png",
        "u1",
    )
    assert (list(about.tags), list(about.dataset_ids), sensor.binary) == (["cup"], ["d"], path.read_bytes())
    assert sensor.metadata.time_requested.ToDatetime(tzinfo=timezone.utc) == when
    first, second = sensor.metadata.annotations.bboxes
    assert (first.label, first.x_min_normalized, first.y_max_normalized, first.HasField("confidence")) == (
        "cup",
        0.1,
        0.4,
        False,
    )
    assert second.confidence == 0.5
    assert [request.metadata.file_extension for request in got[1:]] == [".png", ".jpg"]
    assert len({request.metadata.upload_id for request in got}) == 3


@asynchronous
async def test_images_go_several_at_a_time_each_once_ids_in_their_order_passing_failures_again() -> None:
    tries: Counter[int] = Counter()
    names: dict[int, set[str]] = {}
    now = most = 0
    three = asyncio.Event()

    async def upload(request: sync_pb.DataCaptureUploadRequest) -> sync_pb.DataCaptureUploadResponse:
        nonlocal now, most
        now += 1
        most = max(most, now)
        if now == 3:
            three.set()
        await three.wait()
        now -= 1
        n = number(request)
        tries[n] += 1
        names.setdefault(n, set()).add(request.metadata.upload_id)
        if n == 3 and tries[n] == 1:
            raise GRPCError(Status.UNAVAILABLE, "busy")
        assert (request.metadata.part_id, list(request.metadata.tags)) == ("p", [f"tag{n}"])
        return sync_pb.DataCaptureUploadResponse(binary_data_id=f"id-{n}")

    done: list[int] = []
    async with serve(service(DataSyncServiceBase, DataCaptureUpload=upload)) as server, server.client() as client:
        ids = await client.data_client.upload_images(
            (image(n) for n in range(10)), part_id="p", concurrency=3, on_progress=done.append
        )
    assert ids == [f"id-{n}" for n in range(10)]
    assert done == list(range(1, 11))
    assert most == 3
    assert sum(tries.values()) == 11
    assert all(len(one) == 1 for one in names.values()), "a repeated upload keeps its ID, so that it is stored once"


@asynchronous
async def test_the_first_lasting_failure_ends_an_upload_and_closes_its_source() -> None:
    closed = False

    async def source() -> AsyncIterator[ImageUpload]:
        nonlocal closed
        try:
            for n in range(200):
                yield image(n)
        finally:
            closed = True

    def upload(request: sync_pb.DataCaptureUploadRequest) -> sync_pb.DataCaptureUploadResponse:
        if number(request) == 5:
            raise refuse(Status.NOT_FOUND, "PART_NOT_FOUND", "There is no machine part p.", partId="p")
        return sync_pb.DataCaptureUploadResponse(binary_data_id="x")

    async with serve(service(DataSyncServiceBase, DataCaptureUpload=upload)) as server, server.client() as client:
        with pytest.raises(PlatformError) as caught:
            await client.data_client.upload_images(source(), part_id="p", concurrency=2)
    assert caught.value.code == "PART_NOT_FOUND"
    assert closed


@asynchronous
async def test_all_data_is_paged_until_an_empty_page() -> None:
    def find(request: pb.BinaryDataByFilterRequest) -> pb.BinaryDataByFilterResponse:
        assert request.data_request.filter.dataset_id == "d"
        if request.count_only:
            return pb.BinaryDataByFilterResponse(count=230, total_size_bytes=1000)
        start = int(request.data_request.last or 0)
        end = min(start + request.data_request.limit, 230)
        data = [
            pb.BinaryData(
                binary=b"x" if request.include_binary else b"",
                metadata=pb.BinaryMetadata(
                    binary_data_id=str(n), annotations=pb.Annotations(bboxes=[pb.BoundingBox(id="b", label="cup")])
                ),
            )
            for n in range(start, end)
        ]
        return pb.BinaryDataByFilterResponse(data=data, last=str(end))

    async with serve(service(DataServiceBase, BinaryDataByFilter=find)) as server, server.client() as client:
        data = client.data_client
        found = [one async for one in data.all_binary_data(Filter(dataset_id="d"))]
        count = await data.count_binary_data(Filter(dataset_id="d"))
        page = await data.binary_data_by_filter(Filter(dataset_id="d"), limit=3, include_binary=True)
    assert [one.binary_data_id for one in found] == [str(n) for n in range(230)]
    first: BinaryData = found[0]
    assert (first.content, first.boxes) == (None, (Box("cup", 0, 0, 0, 0, id="b"),))
    assert (count.count, count.size_bytes) == (230, 1000)
    assert ([one.content for one in page.data], page.last) == ([b"x"] * 3, "3")


@asynchronous
async def test_filters_say_what_was_meant() -> None:
    got: list[pb.Filter] = []

    def tags(request: pb.TagsByFilterRequest) -> pb.TagsByFilterResponse:
        got.append(request.filter)
        return pb.TagsByFilterResponse(tags=["cup"])

    when = datetime(2026, 1, 2, tzinfo=timezone.utc)
    async with serve(service(DataServiceBase, TagsByFilter=tags)) as server, server.client() as client:
        for given in (None, Filter(tags=["a"], since=when), Filter(is_tagged=True), Filter(is_tagged=False)):
            assert await client.data_client.tags_by_filter(given) == ["cup"]
    everything, some, tagged, untagged = got
    assert everything == pb.Filter()
    assert (some.tags_filter.type, list(some.tags_filter.tags)) == (pb.TAGS_FILTER_TYPE_MATCH_BY_OR, ["a"])
    assert (some.interval.start.ToDatetime(tzinfo=timezone.utc), some.interval.HasField("end")) == (when, False)
    assert (tagged.tags_filter.type, untagged.tags_filter.type) == (
        pb.TAGS_FILTER_TYPE_TAGGED,
        pb.TAGS_FILTER_TYPE_UNTAGGED,
    )
