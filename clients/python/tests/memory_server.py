"""A server of the tests' own: real sockets, gRPC and plain HTTP on one port; each test defines its answers."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import socket
from typing import TYPE_CHECKING, Any

from google.rpc import error_details_pb2
from grpclib import GRPCError, Status
from grpclib.events import RecvRequest, listen
from grpclib.server import Server

from platform_client import PlatformClient
from platform_client.gen.platform.auth.v1.auth_grpc import AuthServiceBase
from platform_client.gen.platform.auth.v1.auth_pb2 import AuthenticateRequest, AuthenticateResponse

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Callable, Coroutine

    from grpclib.server import Stream


def asynchronous(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """A test that is a coroutine."""

    @functools.wraps(test)
    def run(*args: Any, **given: Any) -> None:
        asyncio.run(test(*args, **given))

    return run


def refuse(status: Status, code: str, what: str, remedy: str = "", **data: str) -> GRPCError:
    """An error as the server makes it: the row of the table in the details."""
    info = error_details_pb2.ErrorInfo(
        reason=code, domain="platform", metadata={**data, "what": what, "remedy": remedy}
    )
    return GRPCError(status, f"{code}: {what} {remedy}", [info])


class Auth(AuthServiceBase):
    """Takes one key; knows the tokens it has given out and not withdrawn."""

    def __init__(self) -> None:
        self.authentications = 0
        self.valid: set[str] = set()

    async def Authenticate(self, stream: Stream[AuthenticateRequest, AuthenticateResponse]) -> None:  # noqa: N802
        request = await stream.recv_message()
        assert request is not None
        self.authentications += 1
        if (request.entity, request.credentials.type, request.credentials.payload) != ("id-1", "api-key", "key-1"):
            what = "The key ID or the key is wrong."
            raise refuse(Status.UNAUTHENTICATED, "INVALID_CREDENTIALS", what, "Check both parts of the API key.")
        token = f"token-{self.authentications}"
        self.valid.add(token)
        await stream.send_message(AuthenticateResponse(access_token=token))

    async def check(self, event: RecvRequest) -> None:
        """Refuses calls without a valid token."""
        token = str(event.metadata.get("authorization", "")).removeprefix("Bearer ")
        if not event.method_name.startswith("/proto.rpc.v1.") and token not in self.valid:
            raise refuse(Status.UNAUTHENTICATED, "TOKEN_EXPIRED", "The token is no longer valid.")


class MemoryServer:
    """A server that runs; ``auth`` says who may call."""

    def __init__(self, port: int, auth: Auth) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.auth = auth
        self.connections = 0

    def client(self, *, key: str = "key-1", timeout: float = 10, retry_time: float = 5) -> PlatformClient:
        """A client of it."""
        return PlatformClient.create(self.url, api_key_id="id-1", api_key=key, timeout=timeout, retry_time=retry_time)


@contextlib.asynccontextmanager
async def serve(
    *services: Any,
    http: Callable[[str, dict[str, str]], bytes] | None = None,
    port: int = 0,
    tls: ssl.SSLContext | None = None,
    hold: asyncio.Event | None = None,
) -> AsyncIterator[MemoryServer]:
    """A server with these services; plain HTTP goes to ``http``, its answer is the bytes to send before hanging up.

    With ``hold`` it hangs up only when that is set.
    """
    auth = Auth()
    inner = socket.create_server(("127.0.0.1", 0))
    grpc = Server([auth, *services])
    listen(grpc, RecvRequest, auth.check)
    await grpc.start(sock=inner)
    open_calls: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        open_calls.add(task)
        try:
            first = await reader.readexactly(3)
            if first == b"PRI":
                server.connections += 1
                there_reader, there_writer = await asyncio.open_connection(*inner.getsockname())
                there_writer.write(first)
                await asyncio.gather(pump(reader, there_writer), pump(there_reader, writer))
            elif first[:1] == b"\x16":
                # A client that wants encryption: most servers answer what they answer to nonsense.
                writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            elif http is not None:
                head = (first + await reader.readuntil(b"\r\n\r\n")).decode("latin1")
                line, *fields = head.strip().split("\r\n")
                headers = {name.lower(): value for name, _, value in (field.partition(": ") for field in fields)}
                writer.write(http(line, headers))
                await writer.drain()
                if hold is not None:
                    await hold.wait()
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            open_calls.discard(task)
            writer.close()

    outer = await asyncio.start_server(accept, "127.0.0.1", port, ssl=tls)
    server = MemoryServer(outer.sockets[0].getsockname()[1], auth)
    try:
        yield server
    finally:
        outer.close()
        for task in list(open_calls):
            task.cancel()
        grpc.close()
        await grpc.wait_closed()


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Carries bytes until the end."""
    try:
        while piece := await reader.read(65_536):
            writer.write(piece)
            await writer.drain()
    finally:
        writer.close()


def free_port() -> int:
    """A port without a listener."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def service(base: Any, **answers: Callable[[Any], Any]) -> Any:
    """A service whose calls are answered by functions of the request (of a list of them for uploads); no others."""

    def method(name: str) -> Any:
        async def call(_self: object, stream: Stream[Any, Any]) -> None:
            if name not in answers:
                raise GRPCError(Status.UNIMPLEMENTED, f"{name} is not here")
            requests = [request async for request in stream]
            made = answers[name](requests[0] if len(requests) == 1 else requests)
            await stream.send_message(await made if inspect.isawaitable(made) else made)

        return call

    return type(base.__name__, (base,), {name: method(name) for name in base.__abstractmethods__})()
