"""The registry: versions of models and of training scripts."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from platform_client.download import download_file
from platform_client.gen.platform.app.packages.v1 import packages_pb2 as pb
from platform_client.gen.platform.app.packages.v1.packages_grpc import PackageServiceStub
from platform_client.times import json_object, time_field

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncIterator, Callable, Mapping
    from datetime import datetime

    from platform_client.connection import Connection

_PIECE = 256 * 1024


@dataclass(frozen=True)
class PackageVersion:
    """A version of a model or of a training script. Versions never change.

    Attributes:
        organization_id: Its organization.
        name: Name of the model or script.
        version: Its version.
        files: Size in bytes by file name, as far as known.
        metadata: For example ``model_type``, ``model_framework`` and the evaluation.
        created_on: When it was published.
        sha256: Hash of the archive, in hex.
    """

    organization_id: str
    name: str
    version: str
    files: Mapping[str, int]
    metadata: Mapping[str, Any]
    created_on: datetime | None
    sha256: str


class _Packages:
    """Packages of one type."""

    _type: pb.PackageType.ValueType

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def _list(self, organization_id: str, name: str | None) -> list[PackageVersion]:
        versions: list[PackageVersion] = []
        page_token = ""
        while True:
            request = pb.ListPackagesRequest(
                organization_id=organization_id, name=name, type=self._type, page_token=page_token
            )
            answer = await self._connection.unary(lambda c: PackageServiceStub(c).ListPackages, request, repeat=True)
            versions += [_version(one)[0] for one in answer.packages]
            page_token = answer.next_page_token
            if page_token == "":
                return versions

    async def _get(self, organization_id: str, name: str, version: str) -> tuple[PackageVersion, str]:
        request = pb.GetPackageRequest(
            id=f"{organization_id}/{name}", version=version, type=self._type, include_url=True
        )
        answer = await self._connection.unary(lambda c: PackageServiceStub(c).GetPackage, request, repeat=True)
        return _version(answer.package)

    async def _download(
        self,
        organization_id: str,
        name: str,
        version: str,
        to: str | os.PathLike[str],
        on_progress: Callable[[int], None] | None,
    ) -> PackageVersion:
        found, url = await self._get(organization_id, name, version)
        await download_file(self._connection, url, Path(to), sha256=found.sha256, on_progress=on_progress)
        return found

    async def _delete(self, organization_id: str, name: str, version: str) -> None:
        request = pb.DeletePackageRequest(id=f"{organization_id}/{name}", version=version, type=self._type)
        await self._connection.unary(lambda c: PackageServiceStub(c).DeletePackage, request)


class ModelClient(_Packages):
    """Models that were trained or uploaded. All calls raise `PlatformError`."""

    _type = pb.PACKAGE_TYPE_ML_MODEL

    async def list_models(self, organization_id: str) -> list[str]:
        """The names of all models of an organization."""
        return sorted({one.name for one in await self._list(organization_id, None)})

    async def list_model_versions(self, organization_id: str, name: str) -> list[PackageVersion]:
        """The versions of a model; none when there is no such model."""
        return await self._list(organization_id, name)

    async def get_model_version(self, organization_id: str, name: str, version: str = "latest") -> PackageVersion:
        """One version; ``latest``: the one published last.

        Raises:
            PlatformError: PACKAGE_NOT_FOUND.
        """
        found, _ = await self._get(organization_id, name, version)
        return found

    async def download_model(
        self,
        organization_id: str,
        name: str,
        to: str | os.PathLike[str],
        *,
        version: str = "latest",
        on_progress: Callable[[int], None] | None = None,
    ) -> PackageVersion:
        """Downloads the archive (.tar.gz) of a model, checks it by its hash and puts it at ``to``.

        An interrupted download leaves ``<to>.part`` and goes on there, in this call or in the next one. What was at
        ``to`` before stays until the new file is complete.

        Args:
            organization_id: The organization.
            name: The model.
            to: The file to write.
            version: ``latest``: the one published last.
            on_progress: Called with the number of bytes that are there.

        Returns:
            The version that was downloaded.

        Raises:
            PlatformError: PACKAGE_NOT_FOUND, DOWNLOAD_CORRUPT; OFFLINE when the server stays away.
            OSError: The file cannot be written.

        Example::

            await client.model_client.download_model(org_id, "things", "things.tar.gz")
            with tarfile.open("things.tar.gz") as archive:
                archive.extractall("things", filter="data")
        """
        return await self._download(organization_id, name, version, to, on_progress)

    async def delete_model_version(self, organization_id: str, name: str, version: str) -> None:
        """Deletes a version; it is never free again.

        Raises:
            PlatformError: PACKAGE_NOT_FOUND, PACKAGE_IN_USE.
        """
        await self._delete(organization_id, name, version)


class TrainingScriptClient(_Packages):
    """Training scripts. All calls raise `PlatformError`."""

    _type = pb.PACKAGE_TYPE_ML_TRAINING

    async def list_training_scripts(self, organization_id: str) -> list[str]:
        """The names of all training scripts of an organization."""
        return sorted({one.name for one in await self._list(organization_id, None)})

    async def list_training_script_versions(self, organization_id: str, name: str) -> list[PackageVersion]:
        """The versions of a training script; none when there is no such script."""
        return await self._list(organization_id, name)

    async def upload_training_script(
        self,
        organization_id: str,
        name: str,
        archive: bytes | str | os.PathLike[str],
        *,
        version: str = "",
        model_type: str = "unspecified",
        model_framework: str = "unspecified",
        timeout: float = 600.0,
    ) -> str:
        """Publishes a training script.

        Args:
            organization_id: The organization.
            name: Name of the script.
            archive: A .tar.gz with ``setup.py`` and ``model/training.py``, as bytes or path.
            version: Never used before for this script. Empty: one of the server's.
            model_type: For example ``single_label_classification``.
            model_framework: ``tflite``, ``onnx``, ``pytorch`` or ``tensorflow``.
            timeout: Longest time of the upload, in seconds.

        Returns:
            The version.

        Raises:
            PlatformError: MODEL_VERSION_TAKEN, SCRIPT_ARCHIVE_INVALID, NOT_OWNER, INVALID_ARGUMENT for anything but a
                .tar.gz.
            OSError: The file cannot be read.

        Example::

            scripts = client.training_script_client
            version = await scripts.upload_training_script(org_id, "my-script", "script.tar.gz", version="1")
        """
        info = pb.PackageInfo(organization_id=organization_id, name=name, version=version, type=self._type)
        info.metadata.update({"model_type": model_type, "model_framework": model_framework, "draft": False})

        async def messages() -> AsyncIterator[pb.CreatePackageRequest]:
            yield pb.CreatePackageRequest(info=info)
            if isinstance(archive, bytes):
                for start in range(0, len(archive), _PIECE):
                    yield pb.CreatePackageRequest(contents=archive[start : start + _PIECE])
                return
            file = await asyncio.to_thread(Path(archive).open, "rb")
            try:
                while piece := await asyncio.to_thread(file.read, _PIECE):
                    yield pb.CreatePackageRequest(contents=piece)
            finally:
                file.close()

        answer = await self._connection.upload(lambda c: PackageServiceStub(c).CreatePackage, messages, timeout=timeout)
        return answer.version

    async def download_training_script(
        self,
        organization_id: str,
        name: str,
        to: str | os.PathLike[str],
        *,
        version: str = "latest",
        on_progress: Callable[[int], None] | None = None,
    ) -> PackageVersion:
        """Downloads the archive (.tar.gz) of a training script, as `ModelClient.download_model` does it for models."""
        return await self._download(organization_id, name, version, to, on_progress)

    async def delete_training_script_version(self, organization_id: str, name: str, version: str) -> None:
        """Deletes a version; it is never free again.

        Raises:
            PlatformError: PACKAGE_NOT_FOUND, PACKAGE_IN_USE.
        """
        await self._delete(organization_id, name, version)


def _version(message: pb.Package) -> tuple[PackageVersion, str]:
    info = message.info
    found = PackageVersion(
        organization_id=info.organization_id,
        name=info.name,
        version=info.version,
        files={file.name: file.size for file in info.files},
        metadata=json_object(info.metadata),
        created_on=time_field(message, "created_on"),
        sha256=message.checksum,
    )
    return found, message.url
