"""Both clients against a server with a certificate of its own: calls, uploads in pieces, downloads."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path

import pytest
from platform_client import PlatformClient, PlatformError
from viam.app.viam_client import ViamClient
from viam.rpc.dial import DialOptions

import script


async def main() -> None:
    org_id, url = os.environ["ORG_ID"], os.environ["PLATFORM_URL"]
    async with PlatformClient.create() as distrustful:
        with pytest.raises(PlatformError, match="certificate is not trusted"):
            await distrustful.list_organizations()
    async with PlatformClient.create(ca_file=os.environ["CA_FILE"]) as client:
        scripts = client.training_script_client
        content = script.archive()
        await scripts.upload_training_script(org_id, "script", content, version="1")
        with tempfile.TemporaryDirectory() as folder:
            to = Path(folder) / "script.tar.gz"
            await scripts.download_training_script(org_id, "script", to)
            assert to.read_bytes() == content

    # The public SDK trusts every certificate of this host.
    options = DialOptions.with_api_key(os.environ["PLATFORM_API_KEY"], os.environ["PLATFORM_API_KEY_ID"])
    public = await ViamClient.create_from_dial_options(options, url)
    assert [one.id for one in await public.app_client.list_organizations()] == [org_id]
    public.close()
    print("all of it arrived")


asyncio.run(main())
