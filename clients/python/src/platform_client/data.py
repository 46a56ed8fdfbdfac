"""Captured images and files: upload, find, tag, draw boxes, collect into datasets."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import AsyncGenerator, AsyncIterable
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from platform_client.errors import PlatformError, is_passing
from platform_client.gen.platform.app.data.v1 import data_pb2 as pb
from platform_client.gen.platform.app.data.v1.data_grpc import DataServiceStub
from platform_client.gen.platform.app.datasync.v1 import data_sync_pb2 as sync_pb
from platform_client.gen.platform.app.datasync.v1.data_sync_grpc import DataSyncServiceStub
from platform_client.image import BinaryData, Box, Filter, ImageUpload, binary_data_from, box_to, filter_to
from platform_client.times import timestamp

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Sequence

    from platform_client.connection import Connection

_PAGE = 100
# An image may be large and the connection slow.
_UPLOAD_TIMEOUT = 300.0


@dataclass(frozen=True)
class Page:
    """A part of the data; ``last`` is the cursor of the next page. The page after the last one is empty."""

    data: list[BinaryData]
    last: str


@dataclass(frozen=True)
class DataCount:
    """How many data, and their size in bytes."""

    count: int
    size_bytes: int


class DataClient:
    """Captured images and files. All calls raise `PlatformError`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def upload_image(
        self,
        image: ImageUpload,
        *,
        part_id: str = "",
        dataset_ids: Sequence[str] = (),
        component_name: str = "",
        timeout: float = _UPLOAD_TIMEOUT,
    ) -> str:
        """Uploads one image.

        Args:
            image: What to upload.
            part_id: The machine part that it came from. Empty: the first dataset decides where it belongs.
            dataset_ids: Datasets to put it into.
            component_name: The camera.
            timeout: Longest time of the upload, in seconds.

        Returns:
            Its binary data ID.

        Raises:
            PlatformError: PART_NOT_FOUND, DATASET_NOT_FOUND, IMAGE_NOT_USABLE, MESSAGE_TOO_LARGE (above 64 MiB).
            OSError: The file cannot be read.

        Example::

            image = ImageUpload("cup.jpg", tags=["cup"], boxes=[Box("cup", 0.1, 0.2, 0.5, 0.9)])
            image_id = await client.data_client.upload_image(image, dataset_ids=[dataset_id])
        """
        file_name, file_extension = image.named()
        content = image.content if isinstance(image.content, bytes) else await asyncio.to_thread(image.read)
        sensor = sync_pb.SensorMetadata(time_requested=timestamp(image.taken_at or datetime.now(timezone.utc)))
        sensor.annotations.bboxes.extend(box_to(box) for box in image.boxes)
        request = sync_pb.DataCaptureUploadRequest(
            metadata=sync_pb.UploadMetadata(
                part_id=part_id,
                component_type="camera",
                component_name=component_name,
                method_name="GetImages",
                type=sync_pb.DATA_TYPE_BINARY_SENSOR,
                file_name=file_name,
                file_extension=file_extension,
                mime_type=image.mime_type,
                tags=image.tags,
                dataset_ids=dataset_ids,
                # By it the server knows that a repeated upload is the same image.
                upload_id=image.upload_id or str(uuid.uuid4()),
                images_only=not image.store_any_file,
            ),
            sensor_contents=[sync_pb.SensorData(metadata=sensor, binary=content)],
        )
        answer = await self._connection.unary(
            lambda c: DataSyncServiceStub(c).DataCaptureUpload, request, repeat=True, timeout=timeout
        )
        return answer.binary_data_id

    async def upload_images(
        self,
        images: Iterable[ImageUpload] | AsyncIterable[ImageUpload],
        *,
        part_id: str = "",
        dataset_ids: Sequence[str] = (),
        component_name: str = "",
        concurrency: int = 4,
        attempts: int = 6,
        timeout: float = _UPLOAD_TIMEOUT,
        on_progress: Callable[[int], None] | None = None,
    ) -> list[str]:
        """Uploads many images, several at a time; what fails for a passing reason is tried again.

        The first lasting failure ends it: images that were finished by then stay.

        Args:
            images: They are read when their turn comes.
            part_id: As for `upload_image`.
            dataset_ids: As for `upload_image`.
            component_name: As for `upload_image`.
            concurrency: Uploads at the same time.
            attempts: Tries per image.
            timeout: Longest time of each try, in seconds.
            on_progress: Called after each image with the number of finished ones.

        Returns:
            The binary data IDs in the order of the images.

        Example::

            await client.data_client.upload_images(
                (ImageUpload(path, tags=[path.parent.name]) for path in Path("things").glob("*/*.jpg")),
                dataset_ids=[dataset_id],
            )
        """
        ids: dict[int, str] = {}
        source = _numbered(images)
        # One image is taken at a time, so that a slow source never gets two requests at once.
        turn = asyncio.Lock()

        async def upload_the_rest() -> None:
            while True:
                async with turn:
                    try:
                        number, image = await anext(source)
                    except StopAsyncIteration:
                        return
                named = replace(
                    image,
                    upload_id=image.upload_id or str(uuid.uuid4()),
                    taken_at=image.taken_at or datetime.now(timezone.utc),
                )
                for attempt in range(1, attempts + 1):
                    try:
                        ids[number] = await self.upload_image(
                            named,
                            part_id=part_id,
                            dataset_ids=dataset_ids,
                            component_name=component_name,
                            timeout=timeout,
                        )
                        break
                    except PlatformError as error:
                        if not is_passing(error) or attempt == attempts:
                            raise
                    await asyncio.sleep(random.uniform(0, min(8.0, 0.25 * 2**attempt)))
                if on_progress is not None:
                    on_progress(len(ids))

        workers = [asyncio.ensure_future(upload_the_rest()) for _ in range(concurrency)]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            await source.aclose()
        return [ids[number] for number in sorted(ids)]

    async def binary_data_by_filter(
        self, filter: Filter | None = None, *, limit: int = 0, last: str = "", include_binary: bool = False
    ) -> Page:
        """One page of data, newest first.

        Args:
            filter: None: everything that the caller may see.
            limit: Longest page; 0: the server's default.
            last: Cursor of the page before.
            include_binary: With the files; the page ends early rather than grow large.
        """
        request = pb.BinaryDataByFilterRequest(
            data_request=pb.DataRequest(filter=filter_to(filter or Filter()), limit=limit, last=last),
            include_binary=include_binary,
        )
        answer = await self._connection.unary(lambda c: DataServiceStub(c).BinaryDataByFilter, request, repeat=True)
        return Page([binary_data_from(one, with_content=include_binary) for one in answer.data], answer.last)

    async def all_binary_data(
        self, filter: Filter | None = None, *, include_binary: bool = False
    ) -> AsyncIterator[BinaryData]:
        """All data that matches, newest first, page by page.

        Example::

            async for image in client.data_client.all_binary_data(Filter(dataset_id=dataset_id)):
                print(image.binary_data_id, image.tags)
        """
        last = ""
        while True:
            page = await self.binary_data_by_filter(filter, limit=_PAGE, last=last, include_binary=include_binary)
            for one in page.data:
                yield one
            last = page.last
            if not page.data:
                return

    async def count_binary_data(self, filter: Filter | None = None) -> DataCount:
        """How many match, and their size."""
        request = pb.BinaryDataByFilterRequest(
            data_request=pb.DataRequest(filter=filter_to(filter or Filter())), count_only=True
        )
        answer = await self._connection.unary(lambda c: DataServiceStub(c).BinaryDataByFilter, request, repeat=True)
        return DataCount(answer.count, answer.total_size_bytes)

    async def binary_data_by_ids(
        self, binary_data_ids: Sequence[str], *, include_binary: bool = True
    ) -> list[BinaryData]:
        """One answer per ID, in the order asked for, with the files unless ``include_binary`` is False.

        Raises:
            PlatformError: BINARY_DATA_NOT_FOUND, INCLUDE_BINARY_TOO_LARGE (ask for fewer at once).
        """
        request = pb.BinaryDataByIDsRequest(binary_data_ids=binary_data_ids, include_binary=include_binary)
        answer = await self._connection.unary(lambda c: DataServiceStub(c).BinaryDataByIDs, request, repeat=True)
        return [binary_data_from(one, with_content=include_binary) for one in answer.data]

    async def delete_binary_data_by_ids(self, binary_data_ids: Sequence[str]) -> int:
        """Deletes data; it leaves every dataset, but what was frozen for a job stays. Returns how many there were."""
        request = pb.DeleteBinaryDataByIDsRequest(binary_data_ids=binary_data_ids)
        answer = await self._connection.unary(lambda c: DataServiceStub(c).DeleteBinaryDataByIDs, request)
        return answer.deleted_count

    async def add_binary_data_to_dataset_by_ids(self, binary_data_ids: Sequence[str], dataset_id: str) -> None:
        """Puts images into a dataset; those that are in it stay.

        Raises:
            PlatformError: DATASET_NOT_FOUND, BINARY_DATA_NOT_FOUND.
        """
        request = pb.AddBinaryDataToDatasetByIDsRequest(binary_data_ids=binary_data_ids, dataset_id=dataset_id)
        await self._connection.unary(lambda c: DataServiceStub(c).AddBinaryDataToDatasetByIDs, request, repeat=True)

    async def remove_binary_data_from_dataset_by_ids(self, binary_data_ids: Sequence[str], dataset_id: str) -> None:
        """Takes images out of a dataset; the images stay.

        Raises:
            PlatformError: DATASET_NOT_FOUND.
        """
        request = pb.RemoveBinaryDataFromDatasetByIDsRequest(binary_data_ids=binary_data_ids, dataset_id=dataset_id)
        await self._connection.unary(
            lambda c: DataServiceStub(c).RemoveBinaryDataFromDatasetByIDs, request, repeat=True
        )

    async def add_tags_to_binary_data_by_ids(self, tags: Sequence[str], binary_data_ids: Sequence[str]) -> None:
        """Adds tags; those that are there stay."""
        request = pb.AddTagsToBinaryDataByIDsRequest(tags=tags, binary_data_ids=binary_data_ids)
        await self._connection.unary(lambda c: DataServiceStub(c).AddTagsToBinaryDataByIDs, request, repeat=True)

    async def remove_tags_from_binary_data_by_ids(self, tags: Sequence[str], binary_data_ids: Sequence[str]) -> int:
        """Removes tags. Returns how many there were."""
        request = pb.RemoveTagsFromBinaryDataByIDsRequest(tags=tags, binary_data_ids=binary_data_ids)
        answer = await self._connection.unary(lambda c: DataServiceStub(c).RemoveTagsFromBinaryDataByIDs, request)
        return answer.deleted_count

    async def tags_by_filter(self, filter: Filter | None = None) -> list[str]:
        """The tags in use, each once."""
        request = pb.TagsByFilterRequest(filter=filter_to(filter or Filter()))
        answer = await self._connection.unary(lambda c: DataServiceStub(c).TagsByFilter, request, repeat=True)
        return list(answer.tags)

    async def add_bounding_box_to_image_by_id(self, binary_data_id: str, box: Box) -> str:
        """Draws a box. Returns its ID.

        Raises:
            PlatformError: INVALID_ARGUMENT for edges outside of 0..1 or in the wrong order; BINARY_DATA_NOT_FOUND.
        """
        request = pb.AddBoundingBoxToImageByIDRequest(
            binary_data_id=binary_data_id,
            label=box.label,
            x_min_normalized=box.x_min,
            y_min_normalized=box.y_min,
            x_max_normalized=box.x_max,
            y_max_normalized=box.y_max,
            confidence=box.confidence,
        )
        answer = await self._connection.unary(lambda c: DataServiceStub(c).AddBoundingBoxToImageByID, request)
        return answer.bbox_id

    async def update_bounding_box(
        self,
        binary_data_id: str,
        bbox_id: str,
        *,
        label: str | None = None,
        x_min: float | None = None,
        y_min: float | None = None,
        x_max: float | None = None,
        y_max: float | None = None,
        confidence: float | None = None,
    ) -> None:
        """Changes what is given of a box.

        Raises:
            PlatformError: BOUNDING_BOX_NOT_FOUND; INVALID_ARGUMENT for edges outside of 0..1 or in the wrong order.
        """
        request = pb.UpdateBoundingBoxRequest(
            binary_data_id=binary_data_id,
            bbox_id=bbox_id,
            label=label,
            x_min_normalized=x_min,
            y_min_normalized=y_min,
            x_max_normalized=x_max,
            y_max_normalized=y_max,
            confidence=confidence,
        )
        await self._connection.unary(lambda c: DataServiceStub(c).UpdateBoundingBox, request, repeat=True)

    async def remove_bounding_box_from_image_by_id(self, binary_data_id: str, bbox_id: str) -> None:
        """Removes a box.

        Raises:
            PlatformError: BOUNDING_BOX_NOT_FOUND.
        """
        request = pb.RemoveBoundingBoxFromImageByIDRequest(binary_data_id=binary_data_id, bbox_id=bbox_id)
        await self._connection.unary(lambda c: DataServiceStub(c).RemoveBoundingBoxFromImageByID, request)

    async def bounding_box_labels_by_filter(self, filter: Filter | None = None) -> list[str]:
        """The labels of boxes in use, each once."""
        request = pb.BoundingBoxLabelsByFilterRequest(filter=filter_to(filter or Filter()))
        answer = await self._connection.unary(
            lambda c: DataServiceStub(c).BoundingBoxLabelsByFilter, request, repeat=True
        )
        return list(answer.labels)


async def _numbered(
    images: Iterable[ImageUpload] | AsyncIterable[ImageUpload],
) -> AsyncGenerator[tuple[int, ImageUpload]]:
    number = 0
    if isinstance(images, AsyncIterable):
        try:
            async for image in images:
                yield number, image
                number += 1
        finally:
            if isinstance(images, AsyncGenerator):
                await images.aclose()
    else:
        for image in images:
            yield number, image
            number += 1
