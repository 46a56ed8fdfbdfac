"""Models and scripts: versions, downloads, uploads."""

from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING, Any

import pytest
from grpclib import Status
from memory_server import MemoryServer, asynchronous, refuse, serve, service

from platform_client import PlatformError
from platform_client.gen.platform.app.packages.v1 import packages_pb2 as pb
from platform_client.gen.platform.app.packages.v1.packages_grpc import PackageServiceBase

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CONTENT = bytes(range(256)) * 4000


def package(name: str, version: str, content: bytes = CONTENT) -> pb.Package:
    info = pb.PackageInfo(organization_id="o", name=name, version=version, type=pb.PACKAGE_TYPE_ML_MODEL)
    info.files.add(name=f"{name}.onnx", size=7)
    info.metadata.update({"model_type": "object_detection"})
    url = f"http://elsewhere.test:1234/packages/o/{name}/{version}.tar.gz"
    return pb.Package(info=info, url=url, checksum=hashlib.sha256(content).hexdigest())


def packages(**answers: Any) -> Any:
    def get(request: pb.GetPackageRequest) -> pb.GetPackageResponse:
        if request.id != "o/things":
            raise refuse(Status.NOT_FOUND, "PACKAGE_NOT_FOUND", "There is no package.")
        assert request.type == pb.PACKAGE_TYPE_ML_MODEL
        return pb.GetPackageResponse(package=package("things", "2" if request.version == "latest" else request.version))

    return service(PackageServiceBase, **{"GetPackage": get, **answers})


def response(status: str, body: bytes, **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode() + body


class Files:
    """Serves CONTENT with ranges; ``cuts`` are the numbers of bytes after which it hangs up, one per request."""

    def __init__(self, *cuts: int) -> None:
        self.cuts = list(cuts)
        self.asked: list[str] = []
        self.knows: Callable[[str], bool] = lambda _: True

    def __call__(self, line: str, headers: dict[str, str]) -> bytes:
        assert line == "GET /packages/o/things/2.tar.gz HTTP/1.1"
        self.asked.append(headers.get("range", ""))
        if not self.knows(headers["authorization"].removeprefix("Bearer ")):
            return response("401 Unauthorized", b'{"code":"TOKEN_EXPIRED","message":"Old."}')
        start = int(headers["range"].removeprefix("bytes=").removesuffix("-")) if "range" in headers else 0
        if start >= len(CONTENT):
            body = b'{"code":"RANGE_NOT_SATISFIABLE","message":"The range lies outside."}'
            return response("416 Range Not Satisfiable", body, content_length=str(len(body)))
        rest = CONTENT[start:]
        cut = self.cuts.pop(0) if self.cuts else len(rest)
        status = "206 Partial Content" if "range" in headers else "200 OK"
        return response(status, rest[:cut], content_length=str(len(rest)))


async def download(server: MemoryServer, to: Path) -> list[int]:
    sizes: list[int] = []
    async with server.client() as client:
        found = await client.model_client.download_model("o", "things", to, on_progress=sizes.append)
    assert (found.version, dict(found.files), found.metadata["model_type"]) == (
        "2",
        {"things.onnx": 7},
        "object_detection",
    )
    return sizes


@asynchronous
async def test_a_model_is_downloaded_checked_and_put_in_place(tmp_path: Path) -> None:
    to = tmp_path / "things.tar.gz"
    to.write_bytes(b"the old one")
    files = Files()
    async with serve(packages(), http=files) as server:
        sizes = await download(server, to)
    assert to.read_bytes() == CONTENT
    assert sizes[-1] == len(CONTENT)
    assert files.asked == [""]
    assert [path.name for path in tmp_path.iterdir()] == ["things.tar.gz"]


@asynchronous
async def test_an_interrupted_download_goes_on_where_it_was(tmp_path: Path) -> None:
    to = tmp_path / "things.tar.gz"
    files = Files(100_000, 200_000)
    async with serve(packages(), http=files) as server:
        await download(server, to)
    assert to.read_bytes() == CONTENT
    assert files.asked == ["", "bytes=100000-", "bytes=300000-"]


@asynchronous
async def test_what_an_earlier_run_left_is_not_asked_for_again_and_wrong_bytes_are_dropped(tmp_path: Path) -> None:
    to = tmp_path / "things.tar.gz"
    part = tmp_path / "things.tar.gz.part"
    async with serve(packages(), http=(files := Files())) as server:
        part.write_bytes(CONTENT[:500_000])
        await download(server, to)
        assert files.asked == ["bytes=500000-"]
        part.write_bytes(CONTENT)
        await download(server, to)
        assert files.asked[1:] == [f"bytes={len(CONTENT)}-"]
        part.write_bytes(b"x" * 1000)
        await download(server, to)
        assert files.asked[2:] == ["bytes=1000-", ""]
    assert to.read_bytes() == CONTENT


@asynchronous
async def test_a_file_with_another_hash_is_never_put_in_place(tmp_path: Path) -> None:
    to = tmp_path / "things.tar.gz"
    to.write_bytes(b"the old one")
    answer = pb.GetPackageResponse(package=package("things", "2", b"something else"))
    async with serve(packages(GetPackage=lambda _: answer), http=Files()) as server:
        with pytest.raises(PlatformError) as caught:
            await download(server, to)
    assert (caught.value.code, caught.value.data["gotSha256"]) == (
        "DOWNLOAD_CORRUPT",
        hashlib.sha256(CONTENT).hexdigest(),
    )
    assert [path.name for path in tmp_path.iterdir()] == ["things.tar.gz"]
    assert to.read_bytes() == b"the old one"


@asynchronous
async def test_a_download_renews_its_token_once_and_fails_with_the_code_of_the_answer(tmp_path: Path) -> None:
    to = tmp_path / "things.tar.gz"
    files = Files()
    async with serve(packages(), http=files) as server:
        files.knows = lambda token: token == "token-2"
        await download(server, to)
        assert files.asked == ["", ""]
        files.knows = lambda _: False
        with pytest.raises(PlatformError) as caught:
            await download(server, to)
    assert (caught.value.code, caught.value.what, caught.value.grpc_status) == (
        "TOKEN_EXPIRED",
        "Old.",
        Status.UNAUTHENTICATED,
    )


@asynchronous
async def test_a_download_that_is_given_up_ends_at_once_though_the_server_is_silent(tmp_path: Path) -> None:
    began = asyncio.Event()
    packet = asyncio.Event()
    # The call would wait for an hour; a test that waits for that fails by its own limit.
    async with serve(packages(), http=Files(500_000), hold=packet) as server, server.client(timeout=3600) as client:
        to = tmp_path / "things.tar.gz"
        models = client.model_client
        download = asyncio.ensure_future(models.download_model("o", "things", to, on_progress=lambda _: began.set()))
        await began.wait()
        download.cancel()
        with pytest.raises(asyncio.CancelledError):
            await download
    assert not to.exists()
    assert (tmp_path / "things.tar.gz.part").stat().st_size > 0


@asynchronous
async def test_versions_are_listed_and_names_each_once() -> None:
    def listed(request: pb.ListPackagesRequest) -> pb.ListPackagesResponse:
        assert (request.organization_id, request.type) == ("o", pb.PACKAGE_TYPE_ML_MODEL)
        all_of_them = [package("things", "1"), package("things", "2"), package("cups", "1")]
        wanted = [one for one in all_of_them if not request.HasField("name") or one.info.name == request.name]
        return pb.ListPackagesResponse(packages=wanted)

    async with serve(packages(ListPackages=listed)) as server, server.client() as client:
        models = client.model_client
        assert await models.list_models("o") == ["cups", "things"]
        assert [one.version for one in await models.list_model_versions("o", "things")] == ["1", "2"]
        with pytest.raises(PlatformError, match="PACKAGE_NOT_FOUND"):
            await models.get_model_version("o", "unknown")


@asynchronous
async def test_a_script_is_sent_in_pieces_from_bytes_and_from_a_file(tmp_path: Path) -> None:
    got: list[tuple[pb.PackageInfo, bytes]] = []

    def create(messages: list[pb.CreatePackageRequest]) -> pb.CreatePackageResponse:
        got.append((messages[0].info, b"".join(message.contents for message in messages[1:])))
        return pb.CreatePackageResponse(id="o/script", version=messages[0].info.version or "1700000000000")

    path = tmp_path / "script.tar.gz"
    path.write_bytes(CONTENT)
    async with serve(packages(CreatePackage=create)) as server, server.client() as client:
        scripts = client.training_script_client
        assert await scripts.upload_training_script("o", "script", path, version="3", model_framework="onnx") == "3"
        server.auth.valid.clear()
        assert await scripts.upload_training_script("o", "script", CONTENT) == "1700000000000"
        with pytest.raises(FileNotFoundError):
            await scripts.upload_training_script("o", "script", tmp_path / "missing.tar.gz")
    assert [content for _, content in got] == [CONTENT, CONTENT]
    assert (got[0][0].type, got[0][0].metadata["model_framework"]) == (pb.PACKAGE_TYPE_ML_TRAINING, "onnx")
