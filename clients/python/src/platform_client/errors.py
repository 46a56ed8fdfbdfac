"""What calls fail with."""

from __future__ import annotations

import asyncio
import json
import ssl
from typing import TYPE_CHECKING, Literal, cast

from google.rpc import error_details_pb2
from grpclib import GRPCError, Status
from grpclib.exceptions import ProtocolError, StreamTerminatedError

from platform_client.gen.error_table import ERROR_TABLE

if TYPE_CHECKING:
    from collections.abc import Mapping

Retry = Literal["never", "later", "now"]

# Distinguishes our google.rpc.ErrorInfo from those of proxies.
_DOMAIN = "platform"
_PASSING = {Status.UNAVAILABLE, Status.DEADLINE_EXCEEDED, Status.ABORTED}


class PlatformError(Exception):
    """Everything that a call can fail with. ``code`` is stable: branch on it, never on the message.

    Attributes:
        code: Row of the error table (docs/generated/errors.md), for example ``DATASET_NOT_FOUND``; the name of the
            gRPC status where the server named no row.
        what: What happened, one sentence.
        remedy: What to do about it; empty if unknown.
        data: What the error is about, for example ``{"datasetId": "…"}``.
        retry: Whether the same call may be made again: ``never``, ``later`` (with back-off), ``now`` (once, at once).
        grpc_status: For example ``grpclib.Status.NOT_FOUND``.
        request_id: By which the server's log names the call. ``None`` if the server gave no answer.

    Example::

        try:
            await client.ml_training_client.cancel_training_job(job_id)
        except PlatformError as error:
            if error.code != "JOB_FINISHED":
                raise
    """

    def __init__(
        self,
        code: str,
        what: str,
        remedy: str,
        data: Mapping[str, str],
        retry: Retry,
        grpc_status: Status,
        request_id: str | None = None,
    ) -> None:
        # All of them, so that the error survives being sent to another process.
        super().__init__(code, what, remedy, data, retry, grpc_status, request_id)
        self.code = code
        self.what = what
        self.remedy = remedy
        self.data = data
        self.retry: Retry = retry
        self.grpc_status = grpc_status
        self.request_id = request_id

    def __str__(self) -> str:
        return f"{self.code}: {self.what} {self.remedy}".rstrip()


def _row(code: str) -> tuple[Status, Retry, str] | None:
    row = ERROR_TABLE.get(code)
    if row is None:
        return None
    name, retry, remedy = row
    # gRPC spells CANCELLED with two l.
    status = Status["CANCELLED" if name == "canceled" else name.upper()]
    return status, cast("Retry", retry), remedy


def local_error(code: str, what: str, data: Mapping[str, str]) -> PlatformError:
    """The error of a row of the table, made on this side of the wire."""
    row = _row(code)
    if row is None:
        raise KeyError(code)
    status, retry, remedy = row
    return PlatformError(code, what, remedy, data, retry, status)


def is_passing(error: BaseException) -> bool:
    """Whether the server is away or busy, so that the same may work in a moment."""
    return isinstance(error, PlatformError) and error.retry == "later"


def was_not_sent(error: PlatformError) -> bool:
    """Whether the call certainly never reached the server: it may be made again whatever it does."""
    return isinstance(error.__cause__, ConnectionRefusedError)


def platform_error(error: Exception, url: str) -> PlatformError:
    """What a failure of the transport means."""
    if isinstance(error, GRPCError):
        return _of_status(error)
    if isinstance(error, (asyncio.TimeoutError, TimeoutError)):
        what = f"The server {url} did not answer in time."
        return local_error("CALL_TIMED_OUT", what, {"url": url})
    retry: Retry = "later"
    if isinstance(error, ProtocolError):
        problem = f"it does not speak gRPC ({error})"
    elif isinstance(error, ssl.SSLCertVerificationError):
        problem = f"its certificate is not trusted ({error.verify_message})"
        retry = "never"
    elif isinstance(error, ssl.SSLError) and error.reason == "WRONG_VERSION_NUMBER":
        problem = "it speaks without encryption, as http:// does"
        retry = "never"
    elif isinstance(error, (StreamTerminatedError, ConnectionResetError, BrokenPipeError)):
        problem = "the connection was lost"
    else:
        problem = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
    made = local_error("OFFLINE", f"The server {url} cannot be reached: {problem}.", {"url": url, "problem": problem})
    return PlatformError(made.code, made.what, made.remedy, made.data, retry, made.grpc_status)


def _of_status(error: GRPCError) -> PlatformError:
    message = error.message or ""
    info = next(
        (
            detail
            for detail in error.details or ()
            if isinstance(detail, error_details_pb2.ErrorInfo) and detail.domain == _DOMAIN
        ),
        None,
    )
    if info is None and error.status is Status.DEADLINE_EXCEEDED:
        return local_error("CALL_TIMED_OUT", message or "The server did not answer in time.", {})
    if info is None:
        retry: Retry = "later" if error.status in _PASSING else "never"
        return PlatformError(error.status.name, message, "", {}, retry, error.status)
    row = _row(info.reason)
    data = dict(info.metadata)
    what = data.pop("what", message.removeprefix(f"{info.reason}: "))
    remedy = data.pop("remedy", row[2] if row else "")
    retry = row[1] if row else ("later" if error.status in _PASSING else "never")
    request_id = data.pop("request_id", None)
    return PlatformError(info.reason, what, remedy, data, retry, error.status, request_id)


def http_error(status: int, body: bytes, url: str) -> PlatformError:
    """The error of a plain HTTP answer; the server sends JSON with code, message and remedy."""
    try:
        parsed = json.loads(body)
    except ValueError:
        parsed = None
    fields = parsed if isinstance(parsed, dict) else {}
    code = str(fields.get("code", f"HTTP_{status}"))
    row = _row(code)
    text = body[:200].decode("utf8", "replace")
    what = str(fields.get("message", f"{url} answered {status}{text and ': '}{text}"))
    remedy = str(fields.get("remedy", row[2] if row else ""))
    retry: Retry = row[1] if row else ("later" if status >= 500 else "never")
    return PlatformError(code, what, remedy, {"url": url}, retry, row[0] if row else Status.UNKNOWN)
