"""Files from the server: streamed, checked, resumed."""

from __future__ import annotations

import asyncio
import hashlib
import os
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from platform_client.errors import PlatformError, is_passing, local_error

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import BinaryIO

    from platform_client.connection import Connection

_PIECE = 1024 * 1024
_ATTEMPTS = 6


async def download_file(
    connection: Connection, url: str, to: Path, *, sha256: str, on_progress: Callable[[int], None] | None
) -> None:
    """Downloads a file with the given hash. What is there of it in ``<to>.part`` is not asked for again."""
    part = to.with_name(f"{to.name}.part")
    # By the address that the caller knows the server under.
    path = urlsplit(url).path
    was_corrupt = False
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            got = await _go_on(connection, path, part, on_progress)
        except PlatformError as error:
            # The file is complete, or its first part is wrong: the hash decides.
            if error.code == "RANGE_NOT_SATISFIABLE":
                got = await asyncio.to_thread(_hash, part)
            elif is_passing(error) and attempt < _ATTEMPTS:
                await asyncio.sleep(min(8.0, 0.25 * 2**attempt))
                continue
            else:
                raise
        if got == sha256:
            await asyncio.to_thread(os.replace, part, to)
            return
        # What an interrupted download left may have been wrong: once more from the start.
        await asyncio.to_thread(part.unlink)
        if was_corrupt or attempt == _ATTEMPTS:
            what = f"The download of {url} does not have the expected sha256 {sha256}: it has {got}."
            raise local_error("DOWNLOAD_CORRUPT", what, {"url": url, "wantSha256": sha256, "gotSha256": got})
        was_corrupt = True


async def _go_on(connection: Connection, path: str, part: Path, on_progress: Callable[[int], None] | None) -> str:
    """Fetches what is missing. Returns the hash of all."""
    file = await asyncio.to_thread(part.open, "ab")
    try:
        start = file.tell()
        headers = {"range": f"bytes={start}-"} if start else {}
        async with connection.download(path, headers) as response:
            if start and response.status != 206:
                file.truncate(0)
                start = 0
            end = None if response.length is None else start + response.length
            size = start
            while size != end and (piece := await connection.read(response, _PIECE)):
                await asyncio.to_thread(_append, file, piece)
                size += len(piece)
                if on_progress is not None:
                    on_progress(size)
            if end is not None and size < end:
                problem = "the connection was lost"
                what = f"The download of {path} failed: {problem}."
                raise local_error("DOWNLOAD_FAILED", what, {"url": path, "problem": problem})
    finally:
        file.close()
    return await asyncio.to_thread(_hash, part)


def _append(file: BinaryIO, piece: bytes) -> None:
    file.write(piece)
    file.flush()


def _hash(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()
