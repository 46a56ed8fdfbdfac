"""Jobs: waiting, logs, what a job looks like."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict
from grpclib import GRPCError, Status
from memory_server import asynchronous, refuse, serve, service

from platform_client import JobResources, JobScore, ModelType, PlatformError, TrainingJob, TrainingStatus
from platform_client.gen.platform.app.mltraining.v1 import ml_training_pb2 as pb
from platform_client.gen.platform.app.mltraining.v1.ml_training_grpc import MLTrainingServiceBase


def training(**answers: Any) -> Any:
    return service(MLTrainingServiceBase, **answers)


def job(status: int, **fields: Any) -> pb.GetTrainingJobResponse:
    return pb.GetTrainingJobResponse(
        metadata=pb.TrainingJobMetadata(id="j", status=pb.TrainingStatus.ValueType(status), **fields)
    )


@asynchronous
async def test_a_job_has_the_types_of_python() -> None:
    sent = {
        "id": "j",
        "status": "TRAINING_STATUS_COMPLETED",
        "created_on": "2026-01-02T03:04:05Z",
        "model_type": "MODEL_TYPE_OBJECT_DETECTION",
        "tags": ["cup", "pen"],
        "arguments": {"recipe": "probe"},
        "error_status": {"code": 9, "message": "TOO_FEW_LABELS: …"},
        "progress": 0.5,
        "eta": "90s",
        "evaluation": {"accuracy": 0.9, "per_label": [{"label": "cup"}]},
        "metrics": [{"time": "2026-01-02T03:04:06Z", "values": {"epoch": 3}}],
        "score": {"name": "accuracy", "value": 0.9},
    }
    answer = pb.GetTrainingJobResponse(metadata=ParseDict(sent, pb.TrainingJobMetadata()))
    async with serve(training(GetTrainingJob=lambda _: answer)) as server, server.client() as client:
        found = await client.ml_training_client.get_training_job("j")
    assert found.status == TrainingStatus.COMPLETED
    assert found.has_ended
    assert found.created_on == datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
    assert found.training_ended is None
    assert found.model_type == ModelType.OBJECT_DETECTION
    assert (found.tags, found.arguments, found.eta) == (("cup", "pen"), {"recipe": "probe"}, timedelta(seconds=90))
    assert found.error is not None
    assert (found.error.code, found.score) == (9, JobScore("accuracy", 0.9))
    assert found.evaluation == {"accuracy": 0.9, "per_label": [{"label": "cup"}]}
    assert [metric.values for metric in found.metrics] == [{"epoch": 3}]


@asynchronous
async def test_an_answer_without_a_job_is_not_found() -> None:
    calls = training(GetTrainingJob=lambda _: pb.GetTrainingJobResponse())
    async with serve(calls) as server, server.client() as client:
        with pytest.raises(PlatformError) as caught:
            await client.ml_training_client.get_training_job("gone")
    assert (caught.value.code, caught.value.data) == ("TRAINING_JOB_NOT_FOUND", {"jobId": "gone"})


@asynchronous
async def test_resources_and_arguments_go_along() -> None:
    got: list[pb.SubmitCustomTrainingJobRequest] = []

    def submit(request: pb.SubmitCustomTrainingJobRequest) -> pb.SubmitCustomTrainingJobResponse:
        got.append(request)
        return pb.SubmitCustomTrainingJobResponse(id="j")

    async with serve(training(SubmitCustomTrainingJob=submit)) as server, server.client() as client:
        given = JobResources(gpus=1, time_limit=90.5, memory_mib=512)
        made = await client.ml_training_client.submit_custom_training_job(
            "o", "d", "o:script", "3", "m", "1", arguments={"a": "1"}, container_version="py:3.11", resources=given
        )
    assert made == "j"
    [sent] = got
    assert (sent.registry_item_id, sent.registry_item_version, sent.model_name) == ("o:script", "3", "m")
    assert (dict(sent.arguments), sent.container_version) == ({"a": "1"}, "py:3.11")
    resources = sent.resources
    assert (resources.gpus, resources.time_limit.ToTimedelta(), resources.memory_mib, resources.disk_mib) == (
        1,
        timedelta(seconds=90.5),
        512,
        0,
    )


@asynchronous
async def test_waiting_reports_progress_bridges_an_outage_and_returns_the_end() -> None:
    states = [TrainingStatus.PENDING, None, TrainingStatus.IN_PROGRESS, None, TrainingStatus.COMPLETED]

    def get(_: Any) -> pb.GetTrainingJobResponse:
        status = states.pop(0)
        if status is None:
            raise GRPCError(Status.UNAVAILABLE, "away")
        return job(status)

    seen: list[TrainingStatus] = []

    async def note(found: TrainingJob) -> None:
        await asyncio.sleep(0)
        seen.append(found.status)

    async with serve(training(GetTrainingJob=get)) as server, server.client(retry_time=0) as client:
        end = await client.ml_training_client.wait_for_training_job("j", on_progress=note, every=0)
    assert end.status == TrainingStatus.COMPLETED
    assert seen == [TrainingStatus.PENDING, TrainingStatus.IN_PROGRESS, TrainingStatus.COMPLETED]


@asynchronous
async def test_waiting_ends_with_a_lasting_error_a_long_outage_and_the_timeout() -> None:
    def get(request: pb.GetTrainingJobRequest) -> pb.GetTrainingJobResponse:
        if request.id == "gone":
            raise refuse(Status.NOT_FOUND, "TRAINING_JOB_NOT_FOUND", "There is no training job gone.", jobId="gone")
        if request.id == "away":
            raise GRPCError(Status.UNAVAILABLE, "away")
        return job(TrainingStatus.RUNNING)

    async with serve(training(GetTrainingJob=get)) as server, server.client(retry_time=0) as client:
        wait = client.ml_training_client.wait_for_training_job
        with pytest.raises(PlatformError, match="no training job gone"):
            await wait("gone")
        with pytest.raises(PlatformError, match="away"):
            await wait("away", offline_time=0)
        with pytest.raises(TimeoutError, match=r"has not ended within 0\.1 s; it is IN_PROGRESS"):
            await wait("j", timeout=0.1, every=600)


@asynchronous
async def test_jobs_are_listed_over_all_pages() -> None:
    asked: list[tuple[int, str]] = []

    def listed(request: pb.ListTrainingJobsRequest) -> pb.ListTrainingJobsResponse:
        asked.append((request.page_size, request.page_token))
        start = int(request.page_token or 0)
        numbers = range(start, min(start + request.page_size, 1200))
        following = start + request.page_size
        return pb.ListTrainingJobsResponse(
            jobs=[pb.TrainingJobMetadata(id=str(n)) for n in numbers],
            next_page_token=str(following) if following < 1200 else "",
        )

    async with serve(training(ListTrainingJobs=listed)) as server, server.client() as client:
        found = await client.ml_training_client.list_training_jobs("o")
    assert [one.id for one in found] == [str(n) for n in range(1200)]
    assert [token for _, token in asked] == ["", "500", "1000"]


def lines(*messages: str) -> list[pb.TrainingJobLogEntry]:
    return [pb.TrainingJobLogEntry(level="info", message=message) for message in messages]


@asynchronous
async def test_logs_are_read_to_the_last_page() -> None:
    pages = {"": (["a", "b"], "2"), "2": (["c"], "3"), "3": ([], "")}

    def logs(request: pb.GetTrainingJobLogsRequest) -> pb.GetTrainingJobLogsResponse:
        assert not request.HasField("wait")
        messages, token = pages[request.page_token]
        return pb.GetTrainingJobLogsResponse(logs=lines(*messages), next_page_token=token)

    async with serve(training(GetTrainingJobLogs=logs)) as server, server.client() as client:
        found = [line.message async for line in client.ml_training_client.get_training_job_logs("j")]
    assert found == ["a", "b", "c"]


@asynchronous
async def test_following_goes_on_over_empty_pages_and_outages_until_the_job_has_ended() -> None:
    # Page by token; a page that is None fails once first.
    pages: list[tuple[str, list[str], str] | None] = [
        ("", ["a"], "1"),
        ("1", [], "1"),
        None,
        ("1", ["b", "c"], "3"),
        ("3", [], ""),
    ]

    def logs(request: pb.GetTrainingJobLogsRequest) -> pb.GetTrainingJobLogsResponse:
        page = pages.pop(0)
        if page is None:
            raise GRPCError(Status.UNAVAILABLE, "away")
        expected, messages, token = page
        assert request.page_token == expected
        assert request.wait.ToTimedelta() > timedelta(seconds=1)
        return pb.GetTrainingJobLogsResponse(logs=lines(*messages), next_page_token=token)

    async with serve(training(GetTrainingJobLogs=logs)) as server, server.client(retry_time=0) as client:
        found = [line.message async for line in client.ml_training_client.follow_training_job_logs("j")]
    assert found == ["a", "b", "c"]
    assert pages == []


@asynchronous
async def test_containers_are_listed_by_key() -> None:
    sent = {
        "py:3.11": {"key": "py:3.11", "uri": "host:/usr/bin/python3", "framework": "python"},
        "custom": {"key": "custom", "eol": "2030-01-01T00:00:00Z"},
    }
    answer = ParseDict({"container_map": sent}, pb.ListSupportedContainersResponse())
    async with serve(training(ListSupportedContainers=lambda _: answer)) as server, server.client() as client:
        found = await client.ml_training_client.list_supported_containers()
    assert [(one.key, one.uri) for one in found] == [("custom", ""), ("py:3.11", "host:/usr/bin/python3")]
    assert found[0].eol == datetime(2030, 1, 1, tzinfo=timezone.utc)
