"""The same story through the Python client of the platform."""

from __future__ import annotations

import asyncio
import tarfile
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from grpclib import Status
from platform_client import (
    Box,
    Credentials,
    Filter,
    ImageUpload,
    ModelFramework,
    ModelType,
    PlatformClient,
    PlatformError,
    TrainingJob,
    TrainingStatus,
)

import script
from images import flat, image
from place import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Awaitable, Coroutine, Iterator
    from pathlib import Path

    from place import Place, Run

SINGLE = ModelType.MODEL_TYPE_SINGLE_LABEL_CLASSIFICATION
LABELS = ["dark", "light"]


async def fails(call: Awaitable[Any], code: str, status: Status) -> PlatformError:
    """The call fails with this row of the error table, which has a remedy."""
    with pytest.raises(PlatformError) as caught:
        await call
    error = caught.value
    assert (error.code, error.grpc_status) == (code, status), error
    assert error.what
    assert error.remedy
    return error


@pytest.fixture(scope="module")
def client(place: Place, run: Run) -> Iterator[PlatformClient]:
    credentials = Credentials(type="api-key", auth_entity=place.key_id, payload=place.key)

    async def close() -> None:
        made.close()

    made = PlatformClient.create(place.url, credentials=credentials)
    yield made
    run(close())


@pytest.fixture(scope="module")
def dataset_id(client: PlatformClient, place: Place, run: Run) -> str:
    return run(client.dataset_client.create_dataset("own things", place.org_id))


@pytest.fixture(scope="module")
def image_ids(client: PlatformClient, dataset_id: str, tmp_path_factory: pytest.TempPathFactory, run: Run) -> list[str]:
    """24 images of two kinds: half of them files, half bytes."""
    folder = tmp_path_factory.mktemp("images")

    def images() -> Iterator[ImageUpload]:
        for n in range(24):
            kind = LABELS[n % 2]
            content = image(n, is_dark=kind == "dark")
            if n < 12:
                path = folder / f"{n}.png"
                path.write_bytes(content)
                yield ImageUpload(path, tags=[kind], taken_at=datetime(2026, 1, 1, 0, n, tzinfo=UTC))
            else:
                yield ImageUpload(content, tags=[kind], boxes=[Box("disc", 0.2, 0.2, 0.8, 0.8)])

    done: list[int] = []
    ids: list[str] = run(client.data_client.upload_images(images(), dataset_ids=[dataset_id], on_progress=done.append))
    assert done == list(range(1, 25))
    assert len(set(ids)) == 24
    return ids


def test_keys_and_organizations(place: Place, client: PlatformClient, run: Run) -> None:
    async def story() -> None:
        [organization] = await client.list_organizations()
        assert (organization.id, organization.role) == (place.org_id, "owner")
        for key_id, key in [(place.key_id, "wrong"), (UNKNOWN, place.key), ("no-uuid", place.key)]:
            async with PlatformClient.create(place.url, api_key_id=key_id, api_key=key) as other:
                await fails(other.list_organizations(), "INVALID_CREDENTIALS", Status.UNAUTHENTICATED)
        async with PlatformClient.create() as of_environment:
            assert len(await of_environment.list_organizations()) == 1

    run(story())


def test_datasets(place: Place, client: PlatformClient, dataset_id: str, run: Run) -> None:
    async def story() -> None:
        datasets = client.dataset_client
        again = datasets.create_dataset("own things", place.org_id)
        error = await fails(again, "DATASET_NAME_TAKEN", Status.ALREADY_EXISTS)
        assert error.data == {"name": "own things"}
        assert error.request_id
        await fails(datasets.create_dataset("", place.org_id), "INVALID_ARGUMENT", Status.INVALID_ARGUMENT)
        await fails(datasets.create_dataset("x", UNKNOWN), "ORGANIZATION_NOT_FOUND", Status.NOT_FOUND)
        second = await datasets.create_dataset("own second", place.org_id)
        await datasets.rename_dataset(second, "日本語 own ✓")
        found = await datasets.list_datasets_by_ids([dataset_id, second, UNKNOWN])
        assert sorted(one.name for one in found) == ["own things", "日本語 own ✓"]
        merged = await datasets.merge_datasets([dataset_id, second], "own merged", place.org_id)
        ids = {one.id for one in await datasets.list_datasets_by_organization_id(place.org_id)}
        assert {dataset_id, second, merged} <= ids
        for made in (second, merged):
            await datasets.delete_dataset(made)
        await fails(datasets.delete_dataset(second), "DATASET_NOT_FOUND", Status.NOT_FOUND)

    run(story())


def test_images(client: PlatformClient, dataset_id: str, image_ids: list[str], run: Run) -> None:
    async def story() -> None:
        data = client.data_client
        members = Filter(dataset_id=dataset_id)
        found = [one async for one in data.all_binary_data(members)]
        assert sorted(one.binary_data_id for one in found) == sorted(image_ids)
        counted = await data.count_binary_data(members)
        assert (counted.count, counted.size_bytes) == (24, sum(one.size_bytes for one in found))
        page = await data.binary_data_by_filter(Filter(dataset_id=dataset_id, tags=["dark"]), limit=5)
        assert [one.tags for one in page.data] == [("dark",)] * 5
        boxed = [one async for one in data.all_binary_data(Filter(dataset_id=dataset_id, bbox_labels=["disc"]))]
        assert sorted(one.binary_data_id for one in boxed) == sorted(image_ids[12:])

        fifth, last = await data.binary_data_by_ids([image_ids[5], image_ids[23]])
        assert (fifth.binary_data_id, fifth.file_name, fifth.mime_type) == (image_ids[5], "5.png", "image/png")
        assert (fifth.content, fifth.tags, fifth.dataset_ids) == (
            image(5, is_dark=False),
            ("light",),
            (dataset_id,),
        )
        assert fifth.taken_at == datetime(2026, 1, 1, 0, 5, tzinfo=UTC)
        [box] = last.boxes
        assert (box.label, box.x_min, box.y_max, box.confidence) == ("disc", 0.2, 0.8, None)

    run(story())


def test_a_repeated_upload_is_stored_once(
    client: PlatformClient, dataset_id: str, image_ids: list[str], run: Run
) -> None:
    async def story() -> None:
        data = client.data_client
        named = ImageUpload(flat(0x654321), tags=["dark"], upload_id="own-upload-1")
        ids = [await data.upload_image(named, dataset_ids=[dataset_id]) for _ in range(3)]
        assert len(set(ids)) == 1
        assert (await data.count_binary_data(Filter(dataset_id=dataset_id))).count == len(image_ids) + 1
        assert await data.delete_binary_data_by_ids(ids[:1]) == 1
        await fails(data.binary_data_by_ids(ids[:1]), "BINARY_DATA_NOT_FOUND", Status.NOT_FOUND)

    run(story())


def test_tags_boxes_and_membership(client: PlatformClient, dataset_id: str, image_ids: list[str], run: Run) -> None:
    async def story() -> None:
        data = client.data_client
        members = Filter(dataset_id=dataset_id)
        some = image_ids[:2]
        await data.add_tags_to_binary_data_by_ids(["blue"], some)
        assert sorted(await data.tags_by_filter(members)) == ["blue", *LABELS]
        assert await data.remove_tags_from_binary_data_by_ids(["blue"], some) == 2
        box = await data.add_bounding_box_to_image_by_id(some[0], Box("round", 0.1, 0.2, 0.5, 0.6, confidence=0.5))
        assert sorted(await data.bounding_box_labels_by_filter(members)) == ["disc", "round"]
        [found] = await data.binary_data_by_ids(some[:1], include_binary=False)
        assert found.boxes == (Box("round", 0.1, 0.2, 0.5, 0.6, confidence=0.5, id=box),)
        assert found.content is None
        await data.update_bounding_box(some[0], box, label="disc", x_max=0.75)
        [found] = await data.binary_data_by_ids(some[:1], include_binary=False)
        assert found.boxes == (Box("disc", 0.1, 0.2, 0.75, 0.6, confidence=0.5, id=box),)
        for bad in (Box("x", 0.6, 0.2, 0.5, 0.6), Box("x", -0.1, 0, 1, 1), Box("x", 0, 0, 1, 1.1)):
            call = data.add_bounding_box_to_image_by_id(some[0], bad)
            await fails(call, "INVALID_ARGUMENT", Status.INVALID_ARGUMENT)
        await data.remove_bounding_box_from_image_by_id(some[0], box)
        again = data.remove_bounding_box_from_image_by_id(some[0], box)
        await fails(again, "BOUNDING_BOX_NOT_FOUND", Status.NOT_FOUND)

        await data.remove_binary_data_from_dataset_by_ids(some, dataset_id)
        assert (await data.count_binary_data(members)).count == 22
        await data.add_binary_data_to_dataset_by_ids(some, dataset_id)
        assert (await data.count_binary_data(members)).count == 24
        unknown = data.add_binary_data_to_dataset_by_ids(some, UNKNOWN)
        await fails(unknown, "DATASET_NOT_FOUND", Status.NOT_FOUND)

    run(story())


def test_bad_submits(place: Place, client: PlatformClient, dataset_id: str, image_ids: list[str], run: Run) -> None:
    async def story() -> None:
        assert image_ids
        submit = client.ml_training_client.submit_training_job
        good = (place.org_id, dataset_id, "own-bad", "1", SINGLE, LABELS)
        cases: list[tuple[int, Any, str, Status]] = [
            (0, UNKNOWN, "ORGANIZATION_NOT_FOUND", Status.NOT_FOUND),
            (1, UNKNOWN, "DATASET_NOT_FOUND", Status.NOT_FOUND),
            (2, "", "INVALID_ARGUMENT", Status.INVALID_ARGUMENT),
            (3, "", "INVALID_ARGUMENT", Status.INVALID_ARGUMENT),
            (4, ModelType.UNSPECIFIED, "INVALID_ARGUMENT", Status.INVALID_ARGUMENT),
            (5, ["dark"], "TOO_FEW_LABELS", Status.FAILED_PRECONDITION),
        ]
        for place_of, wrong, code, status in cases:
            given = [*good[:place_of], wrong, *good[place_of + 1 :]]
            await fails(submit(*given), code, status)
        unknown = submit(*good, arguments={"colour": "blue"})
        await fails(unknown, "INVALID_ARGUMENT", Status.INVALID_ARGUMENT)
        refused = submit(*good, model_framework=ModelFramework.PYTORCH)
        error = await fails(refused, "FRAMEWORK_NOT_SUPPORTED", Status.INVALID_ARGUMENT)
        assert "PYTORCH" in error.what

    run(story())


def test_a_training_from_submit_to_model(
    place: Place, client: PlatformClient, dataset_id: str, image_ids: list[str], tmp_path: Path, run: Run
) -> None:
    async def story() -> None:
        assert image_ids
        training = client.ml_training_client
        arguments = {"recipe": "probe"}
        job_id = await training.submit_training_job(
            place.org_id, dataset_id, "own-model", "1", SINGLE, LABELS, arguments=arguments
        )
        again = training.submit_training_job(place.org_id, dataset_id, "own-model", "1", SINGLE, LABELS)
        error = await fails(again, "MODEL_VERSION_TAKEN", Status.ALREADY_EXISTS)
        assert error.data == {"modelName": "own-model", "modelVersion": "1", "jobId": job_id}

        seen: list[TrainingJob] = []
        job = await training.wait_for_training_job(job_id, on_progress=seen.append, timeout=240, every=0.2)
        assert job.status is TrainingStatus.COMPLETED, job
        assert [one.progress for one in seen] == sorted(one.progress for one in seen)
        assert (job.arguments, job.tags, job.model_type, job.attempt) == (arguments, tuple(LABELS), SINGLE, 1)
        assert job.synced_model_id == f"{place.org_id}/own-model"
        assert job.created_on is not None
        assert job.training_ended is not None
        assert job.created_on < job.training_ended
        assert job.evaluation is not None
        assert job.evaluation["labels"]

        logged = [line.message async for line in training.get_training_job_logs(job_id)]
        followed = [line.message async for line in training.follow_training_job_logs(job_id)]
        assert any("24 images" in message for message in logged)
        assert followed == logged

        listed = {one.id: one for one in await training.list_training_jobs(place.org_id)}
        assert listed[job_id].status is TrainingStatus.COMPLETED
        assert (listed[job_id].evaluation, listed[job_id].metrics) == (None, ())
        pages = [page async for page in training.pages_of_training_jobs(place.org_id, page_size=1)]
        assert [one.id for page in pages for one in page] == list(listed)
        assert max(len(page) for page in pages) == 1
        running = await training.list_training_jobs(place.org_id, TrainingStatus.RUNNING)
        assert job_id not in [one.id for one in running]

        models = client.model_client
        assert "own-model" in await models.list_models(place.org_id)
        [version] = await models.list_model_versions(place.org_id, "own-model")
        assert (version.version, version.metadata["model_type"]) == ("1", "single_label_classification")
        to = tmp_path / "own-model.tar.gz"
        got = await models.download_model(place.org_id, "own-model", to)
        assert got == await models.get_model_version(place.org_id, "own-model")
        with tarfile.open(to) as archive:
            names = archive.getnames()
        assert {"own-model.onnx", "labels.txt"} <= set(names)
        whole = to.read_bytes()
        to.with_name(f"{to.name}.part").write_bytes(whole[:1000])
        await models.download_model(place.org_id, "own-model", to, version="1")
        assert to.read_bytes() == whole
        absent = models.download_model(place.org_id, "nothing", to)
        await fails(absent, "PACKAGE_NOT_FOUND", Status.NOT_FOUND)

        await training.delete_completed_training_job(job_id)
        await fails(training.get_training_job(job_id), "TRAINING_JOB_NOT_FOUND", Status.NOT_FOUND)

    run(story())


def test_several_labels_per_image(
    place: Place, client: PlatformClient, dataset_id: str, image_ids: list[str], run: Run
) -> None:
    async def story() -> None:
        await client.data_client.add_tags_to_binary_data_by_ids(["round"], image_ids[:12])
        training = client.ml_training_client
        kind = ModelType.MULTI_LABEL_CLASSIFICATION
        job_id = await training.submit_training_job(
            place.org_id, dataset_id, "own-labels", "1", kind, [*LABELS, "round"], arguments={"recipe": "probe"}
        )
        job = await training.wait_for_training_job(job_id, timeout=240, every=0.2)
        assert (job.status, job.model_type) == (TrainingStatus.COMPLETED, kind), job
        assert job.score is not None
        assert job.score.name == "micro_f1"
        assert await client.data_client.remove_tags_from_binary_data_by_ids(["round"], image_ids[:12]) == 12

    run(story())


def test_logs_are_followed_while_the_job_runs(
    place: Place, client: PlatformClient, dataset_id: str, image_ids: list[str], run: Run
) -> None:
    async def story() -> None:
        assert image_ids
        training = client.ml_training_client
        job_id = await training.submit_training_job(
            place.org_id, dataset_id, "own-followed", "1", SINGLE, LABELS, arguments={"recipe": "probe"}
        )

        async def follow() -> tuple[list[str], TrainingJob]:
            lines = [line.message async for line in training.follow_training_job_logs(job_id)]
            return lines, await training.get_training_job(job_id)

        lines, job = await asyncio.wait_for(follow(), 240)
        assert job.has_ended, "the end of the log is the end of the job"
        assert lines == [line.message async for line in training.get_training_job_logs(job_id)]
        assert any("24 images" in line for line in lines)

    run(story())


def test_of_fifty_submits_at_once_one_gets_the_version(
    place: Place, client: PlatformClient, dataset_id: str, image_ids: list[str], run: Run
) -> None:
    async def story() -> None:
        assert image_ids
        training = client.ml_training_client

        async def submit() -> str | PlatformError:
            try:
                return await training.submit_training_job(place.org_id, dataset_id, "own-raced", "1", SINGLE, LABELS)
            except PlatformError as error:
                return error

        results = await asyncio.gather(*(submit() for _ in range(50)))
        [job_id] = [one for one in results if isinstance(one, str)]
        lost = [one for one in results if isinstance(one, PlatformError)]
        assert {one.code for one in lost} == {"MODEL_VERSION_TAKEN"}
        assert {one.data["jobId"] for one in lost} == {job_id}
        await training.cancel_training_job(job_id)

    run(story())


def test_cancel_and_delete(
    place: Place, client: PlatformClient, dataset_id: str, image_ids: list[str], run: Run
) -> None:
    async def story() -> None:
        assert image_ids
        training = client.ml_training_client
        job_id = await training.submit_training_job(place.org_id, dataset_id, "own-canceled", "1", SINGLE, LABELS)
        early = training.delete_completed_training_job(job_id)
        await fails(early, "JOB_NOT_FINISHED", Status.FAILED_PRECONDITION)
        await training.cancel_training_job(job_id)
        job = await training.wait_for_training_job(job_id, timeout=60, every=0.2)
        assert job.status is TrainingStatus.CANCELED
        await fails(training.cancel_training_job(job_id), "JOB_FINISHED", Status.FAILED_PRECONDITION)
        await training.delete_completed_training_job(job_id)
        for call in (
            training.get_training_job,
            training.cancel_training_job,
            training.delete_completed_training_job,
            training.wait_for_training_job,
        ):
            await fails(call(job_id), "TRAINING_JOB_NOT_FOUND", Status.NOT_FOUND)
        with pytest.raises(PlatformError, match="TRAINING_JOB_NOT_FOUND"):
            _ = [line async for line in training.get_training_job_logs("no-uuid")]

    run(story())


def test_training_scripts(
    place: Place, client: PlatformClient, dataset_id: str, image_ids: list[str], tmp_path: Path, run: Run
) -> None:
    async def story() -> None:
        assert image_ids
        scripts = client.training_script_client
        content = script.archive()
        assert await scripts.upload_training_script(place.org_id, "own-script", content, version="1") == "1"
        again = scripts.upload_training_script(place.org_id, "own-script", content, version="1")
        with pytest.raises(PlatformError) as caught:
            await again
        assert caught.value.grpc_status is Status.ALREADY_EXISTS
        no_archive = scripts.upload_training_script(place.org_id, "own-script", b"no archive", version="2")
        await fails(no_archive, "INVALID_ARGUMENT", Status.INVALID_ARGUMENT)
        assert "own-script" in await scripts.list_training_scripts(place.org_id)
        versions = await scripts.list_training_script_versions(place.org_id, "own-script")
        assert [one.version for one in versions] == ["1"]

        training = client.ml_training_client

        def submit(script_id: str, version: str, model: str, epochs: str) -> Coroutine[Any, Any, str]:
            return training.submit_custom_training_job(
                place.org_id, dataset_id, script_id, version, model, "1", arguments={"epochs": epochs}
            )

        script_id = f"{place.org_id}:own-script"
        await fails(submit("no-colon", "1", "m", "1"), "INVALID_ARGUMENT", Status.INVALID_ARGUMENT)
        await fails(submit(f"{place.org_id}:unknown", "1", "m", "1"), "SCRIPT_NOT_FOUND", Status.NOT_FOUND)
        await fails(submit(script_id, "2", "m", "1"), "SCRIPT_NOT_FOUND", Status.NOT_FOUND)

        containers = await training.list_supported_containers()
        assert containers, "the runner offers an environment for scripts"
        for container in containers:
            assert container.key
            assert container.framework

        job_id = await submit(script_id, "1", "own-custom", "3")
        lines = {line.message: line.level async for line in training.follow_training_job_logs(job_id)}
        job = await training.get_training_job(job_id)
        assert job.status is TrainingStatus.COMPLETED, (job, lines)
        assert "epochs 3 images 24 labels dark light" in lines
        assert "a warning" in lines
        assert (job.is_custom_job, job.registry_item_id, job.arguments) == (True, script_id, {"epochs": "3"})
        to = tmp_path / "own-custom.tar.gz"
        await client.model_client.download_model(place.org_id, "own-custom", to)
        with tarfile.open(to) as archive:
            assert {"model.json", "labels.txt"} <= set(archive.getnames())

        failing = await training.wait_for_training_job(await submit(script_id, "1", "own-failing", "0"), timeout=240)
        assert (failing.status, failing.cause) == (TrainingStatus.FAILED, "script")
        assert failing.error is not None
        assert "nothing to do" in failing.error.message

        await scripts.delete_training_script_version(place.org_id, "own-script", "1")
        assert await scripts.list_training_script_versions(place.org_id, "own-script") == []

    run(story())
