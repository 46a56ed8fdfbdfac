"""Who calls."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from platform_client.errors import local_error


@dataclass(frozen=True)
class Credentials:
    """The credential of a caller.

    Attributes:
        type: ``api-key``, or ``robot-secret`` for a machine part.
        auth_entity: ID of the API key (or of the part).
        payload: The key (or the secret).

    Example::

        Credentials(type="api-key", auth_entity="<API_KEY_ID>", payload="<API_KEY>")
    """

    type: str
    auth_entity: str
    payload: str = field(repr=False)


def chosen_credentials(api_key_id: str | None, api_key: str | None, credentials: Credentials | None) -> Credentials:
    """What was given, or else the API key of the environment."""
    if credentials is not None:
        if api_key_id is not None or api_key is not None:
            what = "Give either credentials or api_key_id and api_key."
            raise local_error("INVALID_ARGUMENT", what, {"field": "credentials"})
        return credentials
    # The second names are those that a training script finds.
    key_id = api_key_id or os.environ.get("PLATFORM_API_KEY_ID") or os.environ.get("API_KEY_ID")
    key = api_key or os.environ.get("PLATFORM_API_KEY") or os.environ.get("API_KEY")
    if not key_id or not key:
        what = "There is no API key: give api_key_id and api_key, or set PLATFORM_API_KEY_ID and PLATFORM_API_KEY."
        raise local_error("INVALID_ARGUMENT", what, {"field": "api_key_id" if not key_id else "api_key"})
    return Credentials("api-key", key_id, key)
