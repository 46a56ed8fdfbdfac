"""How the public SDK is dialed, and what its calls fail with."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from grpclib import GRPCError, Status
from viam.app.viam_client import ViamClient
from viam.rpc.dial import DialOptions

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from place import Place


async def dial(place: Place, key: str, key_id: str) -> ViamClient:
    options = DialOptions.with_api_key(key, key_id)
    options.insecure = True
    return await ViamClient.create_from_dial_options(options, place.address)


async def fails(call: Coroutine[Any, Any, Any], status: Status, row: str = r"[A-Z_]+") -> None:
    """The call ends with this status; the message names the row of the error table and the remedy."""
    with pytest.raises(GRPCError) as caught:
        await call
    assert caught.value.status is status, caught.value
    assert re.match(rf"{row}: .+\.", caught.value.message or ""), caught.value.message
