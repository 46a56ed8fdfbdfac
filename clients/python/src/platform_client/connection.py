"""Calls to one server as one caller: addresses, tokens, repetition."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import os
import random
import ssl
from socket import SHUT_RDWR
from typing import TYPE_CHECKING, Protocol, TypeVar
from urllib.parse import urlsplit

from grpclib import GRPCError, Status
from grpclib.client import Channel
from grpclib.exceptions import ProtocolError, StreamTerminatedError

from platform_client.errors import PlatformError, http_error, local_error, platform_error, was_not_sent
from platform_client.gen.platform.auth.v1 import auth_grpc, auth_pb2

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping
    from socket import socket

    from grpclib.client import StreamUnaryMethod, UnaryUnaryMethod

    from platform_client.credentials import Credentials

Request = TypeVar("Request")
Answer = TypeVar("Answer")
Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)


# What grpclib, the system and the event loop raise; everything else is a mistake in a program and stays what it is.
_OF_TRANSPORT = (GRPCError, ProtocolError, StreamTerminatedError, OSError, asyncio.TimeoutError)


class _SourceFailedError(Exception):
    """What is to be uploaded cannot be read: no failure of the connection, even where it is an OSError."""


class _Attempt(Protocol[Result_co]):
    def __call__(self, channel: Channel, metadata: Mapping[str, str], left: float) -> Awaitable[Result_co]: ...


class _Deadline:
    """Until when a call with all that belongs to it has its answer: sign-in, connection, repetition."""

    def __init__(self, seconds: float) -> None:
        self._clock = asyncio.get_running_loop().time
        self.at = self._clock() + seconds

    def left(self) -> float:
        """Seconds; never less than what starts a call at all."""
        return max(self.at - self._clock(), 0.001)


class _Link:
    """One connection to the server, with the number of calls that use it."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.calls = 0
        self.is_current = True


class Connection:
    """Authenticates when needed and again when a token was refused; repeats what is safe when the server is away."""

    def __init__(
        self, url: str | None, credentials: Credentials, *, timeout: float, retry_time: float, ca_file: str | None
    ) -> None:
        # The second name is the one that a training script finds.
        self.url = (
            (url or os.environ.get("PLATFORM_URL") or os.environ.get("PLATFORM_BASE_URL") or "").strip().rstrip("/")
        )
        self._credentials = credentials
        self._timeout = timeout
        self._retry_time = retry_time
        self._host, self._port, self._is_tls = _address(self.url)
        self._ca_file = ca_file
        self._link: _Link | None = None
        self._token: str | None = None
        self._lock = asyncio.Lock()
        self._is_closed = False

    @property
    def timeout(self) -> float:
        """Longest time of one call, in seconds."""
        return self._timeout

    def close(self) -> None:
        """Ends the connection; calls that wait for an answer fail."""
        self._is_closed = True
        if self._link is not None:
            self._link.channel.close()
            self._link = None

    async def unary(
        self,
        method: Callable[[Channel], UnaryUnaryMethod[Request, Answer]],
        request: Request,
        *,
        repeat: bool = False,
        timeout: float | None = None,
    ) -> Answer:
        """One question, one answer. ``repeat``: making the call twice is as good as making it once."""

        deadline = _Deadline(timeout or self._timeout)

        async def attempt(channel: Channel, metadata: Mapping[str, str], left: float) -> Answer:
            return await method(channel)(request, metadata=dict(metadata), timeout=left)

        return await self._patiently(lambda: self._authorized(attempt, deadline), repeat=repeat, deadline=deadline)

    async def upload(
        self,
        method: Callable[[Channel], StreamUnaryMethod[Request, Answer]],
        messages: Callable[[], AsyncIterable[Request]],
        *,
        timeout: float,
    ) -> Answer:
        """Many messages, one answer. ``messages`` is called again if the token was refused."""

        deadline = _Deadline(timeout)

        async def attempt(channel: Channel, metadata: Mapping[str, str], left: float) -> Answer:
            async with method(channel).open(metadata=dict(metadata), timeout=left) as stream:
                async for message in _named(messages()):
                    await stream.send_message(message)
                await stream.end()
                answer = await stream.recv_message()
            if answer is None:
                raise local_error("INTERNAL", "The server ended an upload without an answer.", {})
            return answer

        try:
            return await self._patiently(lambda: self._authorized(attempt, deadline), repeat=False, deadline=deadline)
        except _SourceFailedError as error:
            raise (error.__cause__ or error) from None

    @contextlib.asynccontextmanager
    async def download(self, path: str, headers: Mapping[str, str]) -> AsyncIterator[http.client.HTTPResponse]:
        """A plain HTTP GET of a path of the server. Its answer is read in a thread, see `read`."""
        deadline = _Deadline(self._timeout)
        token = await self._bearer(deadline)
        async with contextlib.AsyncExitStack() as open_ones:
            try:
                response = await self._get(path, headers, token, open_ones, deadline)
                if response.status == 401:
                    again = await self._bearer(deadline, refused=token)
                    response = await self._get(path, headers, again, open_ones, deadline)
            except (OSError, http.client.HTTPException, asyncio.TimeoutError) as error:
                raise platform_error(error, self.url) from error
            if response.status >= 300:
                body = await asyncio.to_thread(response.read, 65_536)
                raise http_error(response.status, body, f"{self.url}{path}")
            yield response

    async def read(self, response: http.client.HTTPResponse, size: int) -> bytes:
        """What has arrived of a download, at most ``size`` bytes; none when the server has hung up."""
        try:
            return await asyncio.to_thread(response.read1, size)
        except (OSError, http.client.HTTPException) as error:
            raise platform_error(error, self.url) from error

    async def _get(
        self,
        path: str,
        headers: Mapping[str, str],
        token: str,
        open_ones: contextlib.AsyncExitStack,
        deadline: _Deadline,
    ) -> http.client.HTTPResponse:
        # The thread ends by itself soon after the deadline: nothing else can end a connection that is not made yet.
        left = deadline.left()
        wire = (
            http.client.HTTPSConnection(self._host, self._port, timeout=left, context=self._tls("http/1.1"))
            if self._is_tls
            else http.client.HTTPConnection(self._host, self._port, timeout=left)
        )
        open_ones.callback(wire.close)

        def ask() -> http.client.HTTPResponse:
            wire.connect()
            line = wire.sock
            open_ones.callback(_hang_up, line)
            wire.request("GET", path, headers={**headers, "authorization": f"Bearer {token}"})
            response = wire.getresponse()
            # From now on for each piece.
            line.settimeout(self._timeout)
            # An answer after which the server hangs up keeps the socket for itself.
            open_ones.callback(response.close)
            open_ones.callback(_hang_up, line)
            return response

        return await asyncio.wait_for(asyncio.to_thread(ask), left)

    def _tls(self, protocol: str) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self._ca_file)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols([protocol])
        return context

    @contextlib.asynccontextmanager
    async def _channel(self) -> AsyncIterator[Channel]:
        if self._is_closed:
            raise local_error("INVALID_ARGUMENT", "The client was closed.", {"field": "client"})
        if self._link is None:
            tls = self._tls("h2") if self._is_tls else None
            self._link = _Link(Channel(self._host, self._port, ssl=tls))
        link = self._link
        link.calls += 1
        try:
            yield link.channel
        except (asyncio.TimeoutError, TimeoutError):
            # The connection may be dead without an error: later calls open another one.
            link.is_current = False
            if self._link is link:
                self._link = None
            raise
        finally:
            link.calls -= 1
            if link.calls == 0 and not link.is_current:
                link.channel.close()

    async def _once(self, attempt: _Attempt[Result], metadata: Mapping[str, str], deadline: _Deadline) -> Result:
        try:
            async with self._channel() as channel:
                left = deadline.left()
                # Also while the connection is made, which the deadline of the call itself does not limit.
                return await asyncio.wait_for(attempt(channel, metadata, left), left)
        except _OF_TRANSPORT as error:
            raise platform_error(error, self.url) from error

    async def _authorized(self, attempt: _Attempt[Result], deadline: _Deadline) -> Result:
        token = await self._bearer(deadline)
        try:
            return await self._once(attempt, {"authorization": f"Bearer {token}"}, deadline)
        except PlatformError as error:
            if error.grpc_status is not Status.UNAUTHENTICATED:
                raise
        again = await self._bearer(deadline, refused=token)
        return await self._once(attempt, {"authorization": f"Bearer {again}"}, deadline)

    async def _bearer(self, deadline: _Deadline, *, refused: str | None = None) -> str:
        """The token, fetched once for all calls that wait for it; another one than ``refused``."""
        try:
            await asyncio.wait_for(self._lock.acquire(), deadline.left())
        except asyncio.TimeoutError as error:
            raise platform_error(error, self.url) from error
        try:
            if self._token is None or self._token == refused:
                self._token = None
                self._token = await self._patiently(
                    lambda: self._authenticate(deadline), repeat=True, deadline=deadline
                )
            return self._token
        finally:
            self._lock.release()

    async def _authenticate(self, deadline: _Deadline) -> str:
        given = self._credentials
        request = auth_pb2.AuthenticateRequest(
            entity=given.auth_entity, credentials=auth_pb2.Credentials(type=given.type, payload=given.payload)
        )

        async def attempt(channel: Channel, metadata: Mapping[str, str], left: float) -> str:
            call = auth_grpc.AuthServiceStub(channel).Authenticate
            answer = await call(request, metadata=dict(metadata), timeout=left)
            return answer.access_token

        return await self._once(attempt, {}, deadline)

    async def _patiently(self, once: Callable[[], Awaitable[Result]], *, repeat: bool, deadline: _Deadline) -> Result:
        clock = asyncio.get_running_loop().time
        until = min(clock() + self._retry_time, deadline.at)
        longest = 0.1
        while True:
            try:
                return await once()
            except PlatformError as error:
                is_away = error.retry == "later" and error.grpc_status is Status.UNAVAILABLE
                pause = random.uniform(0, longest)
                if not (is_away and (repeat or was_not_sent(error))) or clock() + pause >= until:
                    raise
            await asyncio.sleep(pause)
            longest = min(longest * 2, 2.0)


def _hang_up(wire: socket) -> None:
    """A thread that reads from it ends at once; without it, closing would wait for that thread."""
    with contextlib.suppress(OSError):
        wire.shutdown(SHUT_RDWR)


async def _named(messages: AsyncIterable[Request]) -> AsyncIterator[Request]:
    try:
        async for message in messages:
            yield message
    except OSError as error:
        raise _SourceFailedError from error


def _address(url: str) -> tuple[str, int, bool]:
    """Host, port and whether the connection is encrypted."""
    if url == "":
        what = "The address of the server is not known: give url or set PLATFORM_URL."
        raise local_error("INVALID_ARGUMENT", what, {"field": "url"})
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise _bad_address(url, str(error)) from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise _bad_address(url, "it begins with http:// or https:// and names a host")
    if parts.path or parts.query or parts.fragment or parts.username:
        raise _bad_address(url, "nothing follows host and port")
    is_tls = parts.scheme == "https"
    return parts.hostname, port or (443 if is_tls else 80), is_tls


def _bad_address(url: str, limit: str) -> PlatformError:
    data = {"field": "url", "value": url, "limit": limit}
    return local_error(
        "INVALID_ARGUMENT", f"url is not valid: {url}; {limit}, for example http://127.0.0.1:8080.", data
    )
