"""The unmodified public Python SDK: training, registry, roles."""

from __future__ import annotations

import asyncio
import io
import tarfile
import time
import urllib.request
import uuid
from typing import TYPE_CHECKING, Any

import pytest
from grpclib import GRPCError, Status
from viam.app.app_client import APIKeyAuthorization
from viam.gen.app.packages.v1.packages_grpc import PackageServiceStub
from viam.gen.app.packages.v1.packages_pb2 import (
    CreatePackageRequest,
    CreatePackageResponse,
    GetPackageRequest,
    ListPackagesRequest,
    PackageInfo,
    PackageType,
)
from viam.proto.app import Visibility
from viam.proto.app.mltraining import (
    GetContainerRequest,
    GetTrainingJobLogsRequest,
    ListContainersRequest,
    ListSupportedContainersRequest,
    ModelFramework,
    ModelType,
    TrainingStatus,
)
from viam.utils import struct_to_dict

import script
from place import UNKNOWN
from public_sdk import dial, fails

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from viam.app.viam_client import ViamClient

    from place import Place, Run


SINGLE = ModelType.MODEL_TYPE_SINGLE_LABEL_CLASSIFICATION


def test_bad_submits(place: Place, sdk: ViamClient, dataset_id: str, image_ids: list[str], run: Run) -> None:
    async def story() -> None:
        training = sdk.ml_training_client
        assert image_ids
        labels = ["dark", "light"]

        def submit(**other: Any) -> Coroutine[Any, Any, str]:
            given = {
                "org_id": place.org_id,
                "dataset_id": dataset_id,
                "model_name": "python-bad",
                "model_version": "1",
                "model_type": SINGLE,
                "tags": labels,
            }
            return training.submit_training_job(**{**given, **other})

        empty = await sdk.data_client.create_dataset("python empty", place.org_id)
        cases: list[tuple[dict[str, Any], Status, str]] = [
            ({"org_id": ""}, Status.INVALID_ARGUMENT, "INVALID_ARGUMENT"),
            ({"org_id": UNKNOWN}, Status.NOT_FOUND, "ORGANIZATION_NOT_FOUND"),
            ({"dataset_id": UNKNOWN}, Status.NOT_FOUND, "DATASET_NOT_FOUND"),
            ({"dataset_id": "no-uuid"}, Status.NOT_FOUND, "DATASET_NOT_FOUND"),
            ({"dataset_id": empty}, Status.FAILED_PRECONDITION, "DATASET_EMPTY"),
            ({"model_name": ""}, Status.INVALID_ARGUMENT, "INVALID_ARGUMENT"),
            ({"model_name": "../x"}, Status.INVALID_ARGUMENT, "INVALID_ARGUMENT"),
            ({"model_version": ""}, Status.INVALID_ARGUMENT, "INVALID_ARGUMENT"),
            ({"model_type": ModelType.MODEL_TYPE_UNSPECIFIED}, Status.INVALID_ARGUMENT, "INVALID_ARGUMENT"),
            ({"tags": ["dark"]}, Status.FAILED_PRECONDITION, "TOO_FEW_LABELS"),
            ({"tags": ["never", "seen"]}, Status.FAILED_PRECONDITION, "[A-Z_]+"),
        ]
        for other, status, row in cases:
            await fails(submit(**other), status, row)
        # Nothing of it claimed the version.
        job_id = await submit()
        await fails(submit(), Status.ALREADY_EXISTS, "MODEL_VERSION_TAKEN")
        await ended(sdk, job_id, TrainingStatus.TRAINING_STATUS_CANCELED, cancel=True)

    run(story())


async def ended(sdk: ViamClient, job_id: str, status: TrainingStatus.ValueType, *, cancel: bool = False) -> Any:
    """The job at its end, which has this status."""
    training = sdk.ml_training_client
    if cancel:
        await training.cancel_training_job(job_id)
    until = time.monotonic() + 240
    while time.monotonic() < until:
        job = await training.get_training_job(job_id)
        if job.HasField("training_ended"):
            assert job.status == status, job
            return job
        await asyncio.sleep(0.5)
    pytest.fail(f"the job has not ended: {job}")


def test_a_training_from_submit_to_model(
    place: Place, sdk: ViamClient, dataset_id: str, image_ids: list[str], run: Run
) -> None:
    async def story() -> None:
        training = sdk.ml_training_client
        assert image_ids
        job_id = await training.submit_training_job(
            place.org_id, dataset_id, "python-model", "2026-01-01T00-00-00", SINGLE, ["dark", "light"]
        )
        job = await training.get_training_job(job_id)
        assert (job.id, job.organization_id, job.dataset_id, job.model_name, job.model_version) == (
            job_id,
            place.org_id,
            dataset_id,
            "python-model",
            "2026-01-01T00-00-00",
        )
        assert (job.model_type, list(job.tags), job.is_custom_job) == (SINGLE, ["dark", "light"], False)
        assert job.status in (TrainingStatus.TRAINING_STATUS_PENDING, TrainingStatus.TRAINING_STATUS_IN_PROGRESS)

        job = await ended(sdk, job_id, TrainingStatus.TRAINING_STATUS_COMPLETED)
        assert job.synced_model_id == f"{place.org_id}/python-model"
        assert not job.HasField("error_status")
        times = [job.created_on, job.training_started, job.training_ended, job.last_modified]
        assert times == sorted(times, key=lambda one: one.ToNanoseconds())
        assert job.model_framework != ModelFramework.MODEL_FRAMEWORK_UNSPECIFIED

        listed = await training.list_training_jobs(place.org_id)
        assert job_id in [one.id for one in listed]
        by_status = {
            status: [one.id for one in await training.list_training_jobs(place.org_id, status)]
            for status in (TrainingStatus.TRAINING_STATUS_COMPLETED, TrainingStatus.TRAINING_STATUS_IN_PROGRESS)
        }
        assert [job_id in ids for ids in by_status.values()] == [True, False]
        await fails(training.list_training_jobs(UNKNOWN), Status.NOT_FOUND, "ORGANIZATION_NOT_FOUND")

        calls = training._ml_training_client
        messages: list[str] = []
        token = ""
        while True:
            request = GetTrainingJobLogsRequest(id=job_id, page_token=token)
            page = await calls.GetTrainingJobLogs(request, metadata=training._metadata)
            messages += [line.message for line in page.logs]
            token = page.next_page_token
            if not token:
                break
        assert any("24 images" in message for message in messages), messages
        containers = await calls.ListSupportedContainers(ListSupportedContainersRequest(), metadata=training._metadata)
        for key, container in containers.container_map.items():
            assert (container.key, container.framework != "") == (key, True)

        await training.delete_completed_training_job(job_id)
        await fails(training.get_training_job(job_id), Status.NOT_FOUND, "TRAINING_JOB_NOT_FOUND")

    run(story())


def test_the_model_is_in_the_registry_and_can_be_downloaded(place: Place, sdk: ViamClient, run: Run) -> None:
    async def story() -> None:
        item = await sdk.app_client.get_registry_item(f"{place.org_id}:python-model")
        assert item.type == PackageType.PACKAGE_TYPE_ML_MODEL
        assert list(item.ml_model_metadata.versions) == ["2026-01-01T00-00-00"]
        assert item.ml_model_metadata.model_type == SINGLE
        kinds = [PackageType.PACKAGE_TYPE_ML_MODEL]
        items = await sdk.app_client.list_registry_items(place.org_id, kinds, [], [], [])
        assert "python-model" in [one.name for one in items]

        packages = PackageServiceStub(sdk._channel)
        request = GetPackageRequest(id=f"{place.org_id}/python-model", version="latest", include_url=True)
        found = (await packages.GetPackage(request, metadata=sdk._metadata)).package
        assert found.info.version == "2026-01-01T00-00-00"
        ask = urllib.request.Request(found.url, headers={"key_id": place.key_id, "key": place.key})
        with await asyncio.to_thread(urllib.request.urlopen, ask) as answer:
            assert answer.headers["content-type"] == "application/x-gzip"
            content = answer.read()
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            names = archive.getnames()
        assert "labels.txt" in names
        assert {name.partition(".")[2] for name in names if name.startswith("python-model.")} & {"onnx", "tflite"}

    run(story())


def test_cancel_and_delete(place: Place, sdk: ViamClient, dataset_id: str, image_ids: list[str], run: Run) -> None:
    async def story() -> None:
        training = sdk.ml_training_client
        assert image_ids

        def submit() -> Coroutine[Any, Any, str]:
            return training.submit_training_job(
                place.org_id, dataset_id, "python-canceled", "1", SINGLE, ["dark", "light"]
            )

        job_id = await submit()
        await fails(training.delete_completed_training_job(job_id), Status.FAILED_PRECONDITION, "JOB_NOT_FINISHED")
        await ended(sdk, job_id, TrainingStatus.TRAINING_STATUS_CANCELED, cancel=True)
        await fails(training.cancel_training_job(job_id), Status.FAILED_PRECONDITION, "JOB_FINISHED")
        await training.delete_completed_training_job(job_id)
        for missing in (job_id, UNKNOWN, "no-uuid", ""):
            for call in (
                training.get_training_job,
                training.cancel_training_job,
                training.delete_completed_training_job,
            ):
                await fails(call(missing), Status.NOT_FOUND, "TRAINING_JOB_NOT_FOUND")
        await fails(submit(), Status.ALREADY_EXISTS, "MODEL_VERSION_TAKEN")

    run(story())


def test_training_scripts_in_the_registry(place: Place, sdk: ViamClient, dataset_id: str, run: Run) -> None:
    async def story() -> None:
        packages = PackageServiceStub(sdk._channel)

        async def upload(version: str) -> CreatePackageResponse:
            info = PackageInfo(
                organization_id=place.org_id,
                name="python-script",
                version=version,
                type=PackageType.PACKAGE_TYPE_ML_TRAINING,
            )
            info.metadata.update({"model_type": "unspecified", "model_framework": "onnx", "draft": True})
            content = script.archive()
            async with packages.CreatePackage.open(metadata=sdk._metadata) as stream:
                await stream.send_message(CreatePackageRequest(info=info))
                for start in range(0, len(content), 100):
                    await stream.send_message(CreatePackageRequest(contents=content[start : start + 100]))
                await stream.end()
                answer: CreatePackageResponse | None = await stream.recv_message()
            assert answer is not None
            return answer

        made = await upload("1")
        assert (made.id, made.version) == (f"{place.org_id}/python-script", "1")
        await fails(upload("1"), Status.ALREADY_EXISTS)
        request = ListPackagesRequest(organization_id=place.org_id, type=PackageType.PACKAGE_TYPE_ML_TRAINING)
        found = await packages.ListPackages(request, metadata=sdk._metadata)
        assert [(one.info.name, one.info.version) for one in found.packages] == [("python-script", "1")]

        app = sdk.app_client
        item_id = f"{place.org_id}:python-script"
        item = await app.get_registry_item(item_id)
        assert [one.version for one in item.ml_training_metadata.versions] == ["1"]
        assert struct_to_dict(found.packages[0].info.metadata)["draft"] is True
        kind = PackageType.PACKAGE_TYPE_ML_TRAINING
        no_text = app.update_registry_item(item_id, kind, "", Visibility.VISIBILITY_PUBLIC)
        await fails(no_text, Status.INVALID_ARGUMENT)
        await app.update_registry_item(item_id, kind, "What it does", Visibility.VISIBILITY_PRIVATE)
        assert (await app.get_registry_item(item_id)).description == "What it does"

        def submit(script: str, version: str) -> Coroutine[Any, Any, str]:
            training = sdk.ml_training_client
            return training.submit_custom_training_job(place.org_id, dataset_id, script, version, "python-custom", "1")

        await fails(submit("no-colon", "1"), Status.INVALID_ARGUMENT)
        await fails(submit(f"{place.org_id}:unknown", "1"), Status.NOT_FOUND, "SCRIPT_NOT_FOUND")
        await fails(submit(item_id, "unknown"), Status.NOT_FOUND, "SCRIPT_NOT_FOUND")

        job_id = await submit(item_id, "1")
        job = await ended(sdk, job_id, TrainingStatus.TRAINING_STATUS_COMPLETED)
        assert (job.is_custom_job, job.registry_item_id, job.registry_item_version) == (True, item_id, "1")
        assert job.synced_model_id == f"{place.org_id}/python-custom"
        model = await app.get_registry_item(f"{place.org_id}:python-custom")
        assert list(model.ml_model_metadata.versions) == ["1"]

        await app.create_registry_item(place.org_id, "python-made", kind)
        await fails(app.create_registry_item(place.org_id, "python-made", kind), Status.ALREADY_EXISTS)
        await app.delete_registry_item(f"{place.org_id}:python-made")
        await fails(app.get_registry_item(f"{place.org_id}:python-made"), Status.NOT_FOUND, "REGISTRY_ITEM_NOT_FOUND")

    run(story())


def test_the_training_api_needs_the_owner_role(place: Place, sdk: ViamClient, dataset_id: str, run: Run) -> None:
    async def story() -> None:
        rights = [APIKeyAuthorization("operator", "organization", place.org_id)]
        key, key_id = await sdk.app_client.create_key(place.org_id, rights, f"python {uuid.uuid4()}")
        operator = await dial(place, key, key_id)
        training = operator.ml_training_client
        await fails(training.list_training_jobs(place.org_id), Status.PERMISSION_DENIED, "NOT_OWNER")
        job = training.submit_training_job(place.org_id, dataset_id, "m", "1", SINGLE, ["dark", "light"])
        await fails(job, Status.PERMISSION_DENIED, "NOT_OWNER")
        assert [one.id for one in await operator.data_client.list_datasets_by_organization_id(place.org_id)]
        await sdk.app_client.delete_key(key_id)
        await fails(operator.app_client.list_organizations(), Status.UNAUTHENTICATED)
        operator.close()
        await fails(dial(place, key, key_id), Status.UNAUTHENTICATED, "INVALID_CREDENTIALS")

    run(story())


def test_several_labels_and_detection(
    place: Place, sdk: ViamClient, dataset_id: str, image_ids: list[str], run: Run
) -> None:
    async def story() -> None:
        training = sdk.ml_training_client
        for image_id in image_ids:
            await sdk.data_client.add_bounding_box_to_image_by_id(image_id, "disc", 0.2, 0.2, 0.8, 0.8)
        kinds = [
            (ModelType.MODEL_TYPE_MULTI_LABEL_CLASSIFICATION, ["dark", "light"]),
            (ModelType.MODEL_TYPE_OBJECT_DETECTION, ["disc"]),
        ]
        for kind, labels in kinds:
            name = f"python-{kind}"
            job_id = await training.submit_training_job(place.org_id, dataset_id, name, "1", kind, labels)
            job = await training.get_training_job(job_id)
            assert (job.model_type, list(job.tags)) == (kind, labels)
            # That they learn is shown where trainers are tested.
            await ended(sdk, job_id, TrainingStatus.TRAINING_STATUS_CANCELED, cancel=True)

    run(story())


def test_containers_of_an_organization(place: Place, sdk: ViamClient, run: Run) -> None:
    async def story() -> None:
        calls = sdk.ml_training_client._ml_training_client
        listed = await calls.ListContainers(ListContainersRequest(organization_id=place.org_id), metadata=sdk._metadata)
        supported = await calls.ListSupportedContainers(ListSupportedContainersRequest(), metadata=sdk._metadata)
        assert sorted(one.id for one in listed.containers) == sorted(supported.container_map)
        for one in listed.containers:
            found = await calls.GetContainer(GetContainerRequest(id=one.id), metadata=sdk._metadata)
            assert found.container == one
        missing = calls.GetContainer(GetContainerRequest(id="no:such"), metadata=sdk._metadata)
        await fails(missing, Status.NOT_FOUND, "CONTAINER_NOT_FOUND")

    run(story())


def test_calls_that_the_server_does_not_have_say_so(place: Place, sdk: ViamClient, run: Run) -> None:
    async def story() -> None:
        for call in (
            sdk.data_client.list_data_pipelines(place.org_id),
            sdk.data_client.tabular_data_by_sql(place.org_id, "select 1"),
        ):
            with pytest.raises(GRPCError) as caught:
                await asyncio.wait_for(call, 20)
            assert caught.value.status is Status.UNIMPLEMENTED

    run(story())
