"""The server that runs as its tests see it, and the public SDK with images in a dataset."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from images import image
from place import Place
from public_sdk import dial

if TYPE_CHECKING:
    from collections.abc import Iterator

    from viam.app.viam_client import ViamClient

    from place import Run


@pytest.fixture(scope="session")
def place() -> Place:
    env = os.environ
    return Place(env["PLATFORM_URL"], env["ORG_ID"], env["PLATFORM_API_KEY_ID"], env["PLATFORM_API_KEY"])


@pytest.fixture(scope="session")
def run() -> Iterator[Run]:
    with asyncio.Runner() as runner:
        yield runner.run


@pytest.fixture(scope="session")
def sdk(place: Place, run: Run) -> Iterator[ViamClient]:
    made = run(dial(place, place.key, place.key_id))
    yield made
    made.close()


@pytest.fixture(scope="session")
def part_id(sdk: ViamClient, place: Place, run: Run) -> str:
    async def make() -> str:
        app = sdk.app_client
        location = await app.create_location(place.org_id, "python lab")
        robot_id = await app.new_robot("python machine", location.id)
        assert robot_id in [robot.id for robot in await app.list_robots(location.id)]
        [part] = await app.get_robot_parts(robot_id)
        assert part.main_part
        return part.id

    return run(make())


@pytest.fixture(scope="session")
def dataset_id(sdk: ViamClient, place: Place, run: Run) -> str:
    return run(sdk.data_client.create_dataset("python things", place.org_id))


@pytest.fixture(scope="session")
def image_ids(sdk: ViamClient, part_id: str, dataset_id: str, run: Run) -> list[str]:
    """24 images of two kinds, uploaded in the ways that the SDK has."""

    async def upload() -> list[str]:
        data = sdk.data_client
        ids = []
        for n in range(24):
            kind = "dark" if n % 2 else "light"
            content = image(n, is_dark=kind == "dark")
            when = datetime(2026, 1, 1, 0, n, tzinfo=UTC)
            tags, sets = [kind], [dataset_id]
            if n % 3 == 0:
                made = await data.binary_data_capture_upload(
                    binary_data=content,
                    part_id=part_id,
                    component_type="camera",
                    component_name="cam",
                    method_name="GetImages",
                    file_extension=".png",
                    tags=tags,
                    dataset_ids=sets,
                    data_request_times=(when, when),
                )
            elif n % 3 == 1:
                made = await data.streaming_data_capture_upload(
                    content, part_id, "png", "camera", "cam", "GetImages", None, (when, when), tags, sets
                )
            else:
                made = await data.file_upload(
                    part_id, content, file_name=f"{n}.png", file_extension=".png", tags=tags, dataset_ids=sets
                )
            ids.append(made)
        return ids

    ids: list[str] = run(upload())
    assert len(set(ids)) == 24
    return ids
