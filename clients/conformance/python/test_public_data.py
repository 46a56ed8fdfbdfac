"""The unmodified public Python SDK: keys, datasets, images."""

from __future__ import annotations

import asyncio
import urllib.request
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from grpclib import Status
from viam.app.viam_client import ViamClient
from viam.gen.app.v1.robot_grpc import RobotServiceStub
from viam.gen.app.v1.robot_pb2 import LogRequest
from viam.proto.app.data import BinaryID, DeleteTabularFilter, Filter
from viam.proto.common import LogEntry
from viam.rpc.dial import Credentials, DialOptions

from images import flat, image
from place import UNKNOWN
from public_sdk import dial, fails

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from place import Place, Run


def test_keys(place: Place, sdk: ViamClient, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        organizations = await sdk.app_client.list_organizations()
        assert [one.id for one in organizations] == [place.org_id]
        await fails(dial(place, "wrong", place.key_id), Status.UNAUTHENTICATED, "INVALID_CREDENTIALS")
        await fails(dial(place, place.key, UNKNOWN), Status.UNAUTHENTICATED, "INVALID_CREDENTIALS")
        with pytest.raises(ValueError, match="UUID"):
            await dial(place, place.key, "no-uuid")

        monkeypatch.setenv("VIAM_API_KEY", place.key)
        monkeypatch.setenv("VIAM_API_KEY_ID", place.key_id)
        of_environment = await ViamClient.create_from_env_vars(DialOptions(insecure=True), place.url)
        assert len(await of_environment.app_client.list_organizations()) == 1
        of_environment.close()

        options = DialOptions(auth_entity=place.key_id, credentials=Credentials("api-key", place.key), insecure=True)
        direct = await ViamClient.create_from_dial_options(options, place.address)
        assert len(await direct.app_client.list_organizations()) == 1
        direct.close()

    run(story())


def test_datasets(place: Place, sdk: ViamClient, dataset_id: str, run: Run) -> None:
    async def story() -> None:
        data = sdk.data_client
        await fails(data.create_dataset("python things", place.org_id), Status.ALREADY_EXISTS, "DATASET_NAME_TAKEN")
        await fails(data.create_dataset("", place.org_id), Status.INVALID_ARGUMENT)
        await fails(data.create_dataset("x", UNKNOWN), Status.NOT_FOUND)
        second = await data.create_dataset("python second", place.org_id)
        await data.rename_dataset(second, "日本語 ✓")
        await fails(data.rename_dataset(second, "python things"), Status.ALREADY_EXISTS)

        async def names() -> list[str]:
            return sorted(one.name for one in await data.list_dataset_by_ids([dataset_id, second, UNKNOWN]))

        assert await names() == ["python things", "日本語 ✓"]
        merged = await data.merge_datasets("python merged", place.org_id, [dataset_id, second])
        all_of_them = await data.list_datasets_by_organization_id(place.org_id)
        assert {dataset_id, second, merged} <= {one.id for one in all_of_them}
        for made in (second, merged):
            await data.delete_dataset(made)
        await fails(data.delete_dataset(second), Status.NOT_FOUND, "DATASET_NOT_FOUND")
        assert await names() == ["python things"]

    run(story())


def test_images_are_found_page_by_page(sdk: ViamClient, dataset_id: str, image_ids: list[str], run: Run) -> None:
    async def story() -> None:
        data = sdk.data_client
        chosen = Filter(dataset_id=dataset_id)
        seen: list[str] = []
        last = None
        while True:
            page, count, last = await data.binary_data_by_filter(chosen, 10, None, last, include_binary_data=False)
            if not page:
                break
            assert count == len(page) <= 10
            seen += [one.metadata.binary_data_id for one in page]
        assert sorted(seen) == sorted(image_ids)
        _, count, _ = await data.binary_data_by_filter(chosen, count_only=True)
        assert count == 24

        asked = [image_ids[5], image_ids[0]]
        fifth, first = await data.binary_data_by_ids(asked)
        assert [one.metadata.binary_data_id for one in (fifth, first)] == asked
        assert fifth.binary == image(5, is_dark=True)
        assert (fifth.metadata.file_name, fifth.metadata.file_ext) == ("5.png", ".png")
        about = first.metadata.capture_metadata
        assert (list(about.tags), about.mime_type, about.component_name) == (["light"], "image/png", "cam")
        assert first.metadata.time_requested.ToDatetime(tzinfo=UTC) == datetime(2026, 1, 1, tzinfo=UTC)
        organization, location, file = asked[0].split("/")
        old_form = BinaryID(organization_id=organization, location_id=location, file_id=file)
        [same] = await data.binary_data_by_ids([old_form], include_binary_data=False)
        assert (same.metadata.binary_data_id, same.binary) == (asked[0], b"")
        await fails(data.binary_data_by_ids([f"{organization}/{location}/{UNKNOWN}"]), Status.NOT_FOUND)

    run(story())


def test_signed_links_need_no_token(sdk: ViamClient, image_ids: list[str], run: Run) -> None:
    async def story() -> None:
        url, expires = await sdk.data_client.create_binary_data_signed_url(image_ids[0])
        assert expires > datetime.now(expires.tzinfo)
        with await asyncio.to_thread(urllib.request.urlopen, url) as answer:
            assert answer.read() == image(0, is_dark=False)

    run(story())


def test_tags_and_boxes(sdk: ViamClient, dataset_id: str, image_ids: list[str], run: Run) -> None:
    async def story() -> None:
        data = sdk.data_client
        chosen = Filter(dataset_id=dataset_id)
        some = image_ids[:2]
        await data.add_tags_to_binary_data_by_ids(["blue"], some)
        assert sorted(await data.tags_by_filter(chosen)) == ["blue", "dark", "light"]
        assert await data.remove_tags_from_binary_data_by_ids(["blue"], some) == 2

        box = await data.add_bounding_box_to_image_by_id(some[0], "disc", 0.1, 0.2, 0.5, 0.6)
        await data.update_bounding_box(
            some[0],
            box,
            label="round",
            x_min_normalized=0.1,
            y_min_normalized=0.2,
            x_max_normalized=0.75,
            y_max_normalized=0.6,
        )
        [found] = await data.binary_data_by_ids([some[0]], include_binary_data=False)
        [drawn] = found.metadata.annotations.bboxes
        assert (drawn.id, drawn.label, drawn.x_max_normalized) == (box, "round", 0.75)
        assert await data.bounding_box_labels_by_filter(chosen) == ["round"]
        bad = data.add_bounding_box_to_image_by_id(some[0], "disc", 0.6, 0.2, 0.5, 0.6)
        await fails(bad, Status.INVALID_ARGUMENT, "INVALID_ARGUMENT")
        await data.remove_bounding_box_from_image_by_id(box, some[0])
        again = data.remove_bounding_box_from_image_by_id(box, some[0])
        await fails(again, Status.NOT_FOUND, "BOUNDING_BOX_NOT_FOUND")

    run(story())


def test_membership_and_deletion(
    sdk: ViamClient, part_id: str, dataset_id: str, image_ids: list[str], tmp_path: Path, run: Run
) -> None:
    async def story() -> None:
        data = sdk.data_client
        path = tmp_path / "one more.png"
        path.write_bytes(flat(0x123456))
        extra = await data.file_upload_from_path(str(path), part_id, tags=["dark"])
        [found] = await data.binary_data_by_ids([extra])
        assert (found.binary, found.metadata.file_ext) == (flat(0x123456), ".png")

        async def count() -> int:
            return (await data.binary_data_by_filter(Filter(dataset_id=dataset_id), count_only=True))[1]

        await data.add_binary_data_to_dataset_by_ids([extra], dataset_id)
        await data.add_binary_data_to_dataset_by_ids([extra], dataset_id)
        assert await count() == len(image_ids) + 1
        await data.remove_binary_data_from_dataset_by_ids([extra], dataset_id)
        assert await count() == len(image_ids)
        await fails(data.add_binary_data_to_dataset_by_ids([extra], UNKNOWN), Status.NOT_FOUND, "DATASET_NOT_FOUND")
        assert await data.delete_binary_data_by_ids([extra]) == 1
        await fails(data.binary_data_by_ids([extra]), Status.NOT_FOUND, "BINARY_DATA_NOT_FOUND")
        unknown_part = data.file_upload(UNKNOWN, b"x", file_extension=".png")
        await fails(unknown_part, Status.NOT_FOUND, "PART_NOT_FOUND")

    run(story())


def test_large_files_arrive_and_too_large_ones_are_refused_at_once(sdk: ViamClient, part_id: str, run: Run) -> None:
    async def story() -> None:
        data = sdk.data_client
        large = bytes(40 * 2**20)
        made = await data.file_upload(part_id, large, file_name="zeros", file_extension=".bin")
        [found] = await data.binary_data_by_ids([made], include_binary_data=False)
        assert found.metadata.file_size_bytes == len(large)
        assert await data.delete_binary_data_by_ids([made]) == 1
        # The SDK sends a file as one message and would wait for ever without a limit.
        refused = data.file_upload(part_id, bytes(70 * 2**20), file_extension=".bin")
        await asyncio.wait_for(fails(refused, Status.RESOURCE_EXHAUSTED, "MESSAGE_TOO_LARGE"), 60)

    run(story())


def test_tailed_logs_arrive(sdk: ViamClient, part_id: str, run: Run) -> None:
    async def story() -> None:
        robot = RobotServiceStub(sdk._channel)
        metadata = sdk.app_client._metadata
        stream = await sdk.app_client.tail_robot_part_logs(part_id, errors_only=False)
        first = asyncio.ensure_future(stream.next())
        n = 0
        # The tail may need a moment to be there: lines are sent until one arrives.
        while not first.done():
            line = LogEntry(level="info", message=f"live {n}", logger_name="test")
            await robot.Log(LogRequest(id=part_id, logs=[line]), metadata=metadata)
            n += 1
            await asyncio.wait([first], timeout=0.2)
        assert first.result()[0].message.startswith("live ")

    run(story())


def test_readings_by_filter_and_their_deletion(place: Place, sdk: ViamClient, part_id: str, run: Run) -> None:
    async def story() -> None:
        data = sdk.data_client
        times = [(datetime(2026, 1, 1, 0, n, tzinfo=UTC),) * 2 for n in range(7)]
        readings: list[Mapping[str, Any]] = [{"readings": {"celsius": n}} for n in range(7)]
        await data.tabular_data_capture_upload(
            tabular_data=readings,
            part_id=part_id,
            component_type="rdk:component:sensor",
            component_name="probe",
            method_name="Readings",
            data_request_times=times,
            tags=["cellar"],
        )
        chosen = Filter(component_name="probe")
        seen = []
        last = None
        while True:
            page, count, last = await data.tabular_data_by_filter(chosen, limit=3, last=last)
            assert count == len(page) <= 3
            if not page:
                break
            assert {one.metadata.component_name for one in page} == {"probe"}
            seen += [one.data["readings"]["celsius"] for one in page]
        assert seen == [6, 5, 4, 3, 2, 1, 0]
        _, count, _ = await data.tabular_data_by_filter(chosen, count_only=True)
        assert count == 7
        nothing = DeleteTabularFilter(component_name="other")
        assert await data.delete_tabular_data(place.org_id, 0, nothing) == 0
        assert await data.delete_tabular_data(place.org_id, 0, DeleteTabularFilter(component_name="probe")) == 7
        _, count, _ = await data.tabular_data_by_filter(chosen, count_only=True)
        assert count == 0

    run(story())
