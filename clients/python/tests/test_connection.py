"""Tokens, errors, repetition."""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import socket
import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from grpclib import GRPCError, Status
from memory_server import asynchronous, free_port, refuse, serve, service

from platform_client import (
    Credentials,
    ImageUpload,
    ModelType,
    PlatformClient,
    PlatformError,
    TrainingStatus,
    is_passing,
)
from platform_client.gen.platform.app.dataset.v1 import dataset_pb2
from platform_client.gen.platform.app.dataset.v1.dataset_grpc import DatasetServiceBase
from platform_client.gen.platform.app.mltraining.v1 import ml_training_pb2 as pb
from platform_client.gen.platform.app.mltraining.v1.ml_training_grpc import MLTrainingServiceBase

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable


def jobs(**answers: Any) -> Any:
    def submit(request: pb.SubmitTrainingJobRequest) -> pb.SubmitTrainingJobResponse:
        if request.model_version == "taken":
            what = f"Version taken of model {request.model_name} was used before."
            raise refuse(Status.ALREADY_EXISTS, "MODEL_VERSION_TAKEN", what, "Choose another.", modelName="m")
        fields = (request.organization_id, request.dataset_id, request.model_name, request.model_version)
        return pb.SubmitTrainingJobResponse(id="/".join([*fields, str(request.model_type), *request.tags]))

    def listed(request: pb.ListTrainingJobsRequest) -> pb.ListTrainingJobsResponse:
        return pb.ListTrainingJobsResponse(jobs=[pb.TrainingJobMetadata(id=f"status {request.status}")])

    return service(MLTrainingServiceBase, **{"SubmitTrainingJob": submit, "ListTrainingJobs": listed, **answers})


@asynchronous
async def test_calls_authenticate_once_also_when_many_start_together() -> None:
    async with serve(jobs()) as server, server.client() as client:
        submit = client.ml_training_client.submit_training_job
        kind = ModelType.MODEL_TYPE_SINGLE_LABEL_CLASSIFICATION
        ids = await asyncio.gather(*(submit("o", "d", f"m{n}", "1", kind, ["a", "b"]) for n in range(3)))
        assert ids == ["o/d/m0/1/1/a/b", "o/d/m1/1/1/a/b", "o/d/m2/1/1/a/b"]
        assert server.auth.authentications == 1


@asynchronous
async def test_a_token_that_ran_out_is_renewed_once_for_all_calls() -> None:
    async with serve(jobs()) as server, server.client() as client:
        await client.ml_training_client.list_training_jobs("o")
        server.auth.valid.clear()
        found = await asyncio.gather(*(client.ml_training_client.list_training_jobs("o") for _ in range(5)))
        assert [job.id for [job] in found] == ["status 0"] * 5
        assert server.auth.authentications == 2


@asynchronous
async def test_a_wrong_key_is_an_error_with_its_remedy_and_the_next_call_tries_again() -> None:
    async with serve(jobs()) as server, server.client(key="other") as client:
        for _ in range(2):
            with pytest.raises(PlatformError) as caught:
                await client.ml_training_client.list_training_jobs("o")
            error = caught.value
            assert (error.code, error.grpc_status, error.retry) == (
                "INVALID_CREDENTIALS",
                Status.UNAUTHENTICATED,
                "never",
            )
            assert "API key" in error.remedy
        assert server.auth.authentications >= 2


@asynchronous
async def test_running_is_the_filter_for_jobs_in_progress_and_no_status_asks_for_all() -> None:
    async with serve(jobs()) as server, server.client() as client:
        for status, sent in [(TrainingStatus.RUNNING, 2), (TrainingStatus.TRAINING_STATUS_RUNNING, 2), (None, 0)]:
            [job] = await client.ml_training_client.list_training_jobs("o", status)
            assert job.id == f"status {sent}"
    assert TrainingStatus["RUNNING"] is TrainingStatus["IN_PROGRESS"]
    assert TrainingStatus(99) is TrainingStatus.UNSPECIFIED


@asynchronous
async def test_an_error_of_the_server_carries_code_sentence_remedy_and_data() -> None:
    async with serve(jobs()) as server, server.client() as client:
        with pytest.raises(PlatformError) as caught:
            await client.ml_training_client.submit_training_job("o", "d", "m", "taken", ModelType.OBJECT_DETECTION, [])
    error = caught.value
    assert str(error) == "MODEL_VERSION_TAKEN: Version taken of model m was used before. Choose another."
    assert (error.data, error.retry, error.grpc_status) == ({"modelName": "m"}, "never", Status.ALREADY_EXISTS)
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert (str(again), again.code, again.data) == (str(error), error.code, error.data)


@asynchronous
async def test_an_error_without_details_keeps_its_status_as_code() -> None:
    async with serve(service(DatasetServiceBase)) as server, server.client() as client:
        with pytest.raises(PlatformError) as caught:
            await client.dataset_client.create_dataset("x", "o")
    assert (caught.value.code, caught.value.retry) == ("UNIMPLEMENTED", "never")
    assert not is_passing(caught.value)


@asynchronous
async def test_reads_are_repeated_while_the_server_is_busy_and_writes_are_not() -> None:
    asked: list[str] = []

    def listed(_: Any) -> dataset_pb2.ListDatasetsByIDsResponse:
        asked.append("list")
        if len(asked) < 3:
            raise GRPCError(Status.UNAVAILABLE, "busy")
        return dataset_pb2.ListDatasetsByIDsResponse(datasets=[dataset_pb2.Dataset(id="d", name="things")])

    def created(_: Any) -> dataset_pb2.CreateDatasetResponse:
        asked.append("create")
        raise GRPCError(Status.UNAVAILABLE, "busy")

    datasets = service(DatasetServiceBase, ListDatasetsByIDs=listed, CreateDataset=created)
    async with serve(datasets) as server, server.client() as client:
        [found] = await client.dataset_client.list_datasets_by_ids(["d"])
        assert (found.id, found.name, found.time_created) == ("d", "things", None)
        with pytest.raises(PlatformError, match="busy"):
            await client.dataset_client.create_dataset("x", "o")
    assert asked == ["list", "list", "list", "create"]


@asynchronous
async def test_a_server_out_of_reach_is_offline_with_its_address() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    async with PlatformClient.create(url, api_key_id="i", api_key="k", retry_time=0.2) as client:
        with pytest.raises(PlatformError) as caught:
            await client.dataset_client.list_datasets_by_ids([])
    error = caught.value
    assert (error.code, error.retry, error.data["url"], error.grpc_status) == (
        "OFFLINE",
        "later",
        url,
        Status.UNAVAILABLE,
    )
    assert is_passing(error)


@asynchronous
async def test_a_server_that_starts_later_is_waited_for_also_by_a_write() -> None:
    port = free_port()

    def created(request: dataset_pb2.CreateDatasetRequest) -> dataset_pb2.CreateDatasetResponse:
        return dataset_pb2.CreateDatasetResponse(id=f"{request.organization_id}/{request.name}")

    async with PlatformClient.create(f"http://127.0.0.1:{port}", api_key_id="id-1", api_key="key-1") as client:
        waiting = asyncio.ensure_future(client.dataset_client.create_dataset("things", "o"))
        await asyncio.wait([waiting], timeout=0.3)
        assert not waiting.done()
        async with serve(service(DatasetServiceBase, CreateDataset=created), port=port):
            assert await waiting == "o/things"


@asynchronous
async def test_after_a_call_without_an_answer_the_next_one_gets_another_connection() -> None:
    hangs = True

    async def listed(_: Any) -> dataset_pb2.ListDatasetsByIDsResponse:
        if hangs:
            await asyncio.Event().wait()
        return dataset_pb2.ListDatasetsByIDsResponse()

    datasets = service(DatasetServiceBase, ListDatasetsByIDs=listed)
    async with serve(datasets) as server, server.client(timeout=0.3, retry_time=0) as client:
        with pytest.raises(PlatformError) as caught:
            await client.dataset_client.list_datasets_by_ids([])
        assert (caught.value.code, caught.value.retry) == ("CALL_TIMED_OUT", "later")
        hangs = False
        assert await client.dataset_client.list_datasets_by_ids([]) == []
        assert server.connections == 2


@asynchronous
async def test_an_address_with_https_of_a_server_without_it_says_so() -> None:
    async with serve(jobs()) as server:
        url = server.url.replace("http://", "https://")
        async with PlatformClient.create(url, api_key_id="i", api_key="k") as client:
            with pytest.raises(PlatformError, match="without encryption") as caught:
                await client.ml_training_client.list_training_jobs("o")
    assert (caught.value.code, caught.value.retry) == ("OFFLINE", "never")


@asynchronous
async def test_a_closed_client_says_so() -> None:
    async with serve(jobs()) as server:
        client = server.client()
        await client.ml_training_client.list_training_jobs("o")
        client.close()
        with pytest.raises(PlatformError, match="closed"):
            await client.ml_training_client.list_training_jobs("o")


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("", "PLATFORM_URL"),
        ("127.0.0.1:8080", "http://"),
        ("ftp://host", "http://"),
        ("http://", "names a host"),
        ("http://host:99999", "Port out of range"),
        ("http://host/prefix", "nothing follows"),
        ("http://user@host", "nothing follows"),
    ],
)
def test_invalid_urls(url: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PLATFORM_URL", "PLATFORM_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(PlatformError, match=message) as caught:
        PlatformClient.create(url, api_key_id="i", api_key="k")
    assert (caught.value.code, caught.value.data["field"]) == ("INVALID_ARGUMENT", "url")


def test_address_and_key_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    own = ("PLATFORM_URL", "PLATFORM_API_KEY_ID", "PLATFORM_API_KEY")
    of_scripts = ("PLATFORM_BASE_URL", "API_KEY_ID", "API_KEY")
    for name in own + of_scripts:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(PlatformError, match="PLATFORM_API_KEY_ID"):
        PlatformClient.create("http://127.0.0.1:1")
    monkeypatch.setenv("PLATFORM_URL", "http://127.0.0.1:1/")
    monkeypatch.setenv("PLATFORM_API_KEY_ID", "id")
    monkeypatch.setenv("PLATFORM_API_KEY", "key")
    assert PlatformClient.create().url == "http://127.0.0.1:1"
    for name in own:
        monkeypatch.delenv(name)
    for name, value in zip(of_scripts, ("http://127.0.0.1:2", "id", "key"), strict=True):
        monkeypatch.setenv(name, value)
    assert PlatformClient.create().url == "http://127.0.0.1:2"
    given = Credentials(type="api-key", auth_entity="id", payload="secret-key")
    assert "secret-key" not in repr(given)
    with pytest.raises(PlatformError, match="either"):
        PlatformClient.create(credentials=given, api_key="k")


@asynchronous
async def test_https_takes_a_certificate_that_is_trusted_and_refuses_others() -> None:
    folder = Path(__file__).parents[3] / "apps" / "cloud" / "test" / "tls"
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    context.set_alpn_protocols(["h2"])
    async with serve(jobs(), tls=context) as server:
        url = server.url.replace("http://127.0.0.1", "https://localhost")
        options: dict[str, Any] = {"api_key_id": "id-1", "api_key": "key-1", "retry_time": 0.2}
        async with PlatformClient.create(url, **options) as client:
            with pytest.raises(PlatformError, match="certificate is not trusted") as caught:
                await client.ml_training_client.list_training_jobs("o")
            assert (caught.value.code, caught.value.retry) == ("OFFLINE", "never")
        async with PlatformClient.create(url, ca_file=str(folder / "cert.pem"), **options) as client:
            [job] = await client.ml_training_client.list_training_jobs("o")
            assert job.id == "status 0"


@contextlib.asynccontextmanager
async def silent() -> AsyncIterator[str]:
    """A server that takes every connection and never says a word."""

    async def never(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(4096):
            pass
        writer.close()

    server = await asyncio.start_server(never, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@contextlib.asynccontextmanager
async def black_hole() -> AsyncIterator[str]:
    """An address that answers no attempt to connect: while no process accepts, a full queue drops packets."""
    with contextlib.ExitStack() as open_ones:
        listener = open_ones.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(8):
            one = open_ones.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex(listener.getsockname())
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize("place", [silent, black_hole])
@pytest.mark.parametrize("what", ["read", "write", "many", "upload", "download", "wait", "follow"])
@asynchronous
async def test_every_call_gives_up_after_the_time_that_it_names(
    place: Callable[[], contextlib.AbstractAsyncContextManager[str]], what: str, tmp_path: Path
) -> None:
    async with (
        place() as url,
        PlatformClient.create(url, api_key_id="id-1", api_key="key-1", timeout=0.3, retry_time=30) as client,
    ):

        async def follow() -> None:
            async for _ in client.ml_training_client.follow_training_job_logs("j", offline_time=0.5):
                pass

        async def many() -> None:
            made = [client.dataset_client.create_dataset(f"d{n}", "o") for n in range(5)]
            errors = await asyncio.gather(*made, return_exceptions=True)
            [*others, last] = [error for error in errors if isinstance(error, PlatformError)]
            assert len(others) == 4
            raise last

        calls: dict[str, Callable[[], Awaitable[object]]] = {
            "read": lambda: client.ml_training_client.get_training_job("j"),
            "write": lambda: client.dataset_client.create_dataset("d", "o"),
            "many": many,
            "upload": lambda: client.data_client.upload_image(
                ImageUpload(b"x", file_extension="png"), dataset_ids=["d"], timeout=0.3
            ),
            "download": lambda: client.model_client.download_model("o", "m", tmp_path / "m.tar.gz"),
            "wait": lambda: client.ml_training_client.wait_for_training_job("j", offline_time=0.5),
            "follow": follow,
        }
        with pytest.raises(PlatformError) as caught:
            # Of the test: much longer than what was named.
            await asyncio.wait_for(calls[what](), 20)
        assert caught.value.grpc_status is Status.DEADLINE_EXCEEDED
