"""Where the server is, and how coroutines are run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

Result = TypeVar("Result")

# An ID that nothing has.
UNKNOWN = "00000000-0000-4000-8000-000000000000"


@dataclass(frozen=True)
class Place:
    """Where the server is, and the key of its owner."""

    url: str
    org_id: str
    key_id: str
    key: str

    @property
    def address(self) -> str:
        """Host and port."""
        return self.url.partition("://")[2]


class Run(Protocol):
    """Runs a coroutine; connections belong to the event loop that they were made in."""

    def __call__(self, coroutine: Coroutine[Any, Any, Result], /) -> Result: ...
