"""The unmodified public Python SDK gives a device its network and its credentials over the device's hotspot."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

from grpclib.client import Channel
from viam.app.provisioning_client import ProvisioningClient
from viam.gen.provisioning.v1.provisioning_grpc import ProvisioningServiceStub
from viam.proto.provisioning import CloudConfig, ExitProvisioningRequest


class UnderPackage(Channel):
    """Calls the same services under another package name."""

    def request(self, name: str, *args: Any, **kwargs: Any) -> Any:
        return super().request(name.replace("/viam.", f"/{os.environ['PROVISIONING_PACKAGE']}."), *args, **kwargs)


async def provision() -> None:
    channel = UnderPackage("127.0.0.1", int(os.environ["PROVISIONING_PORT"]))
    client = ProvisioningClient(channel, {})
    status = await asyncio.wait_for(client.get_smart_machine_status(), 60)
    assert (status.provisioning_info.manufacturer, status.provisioning_info.model) == ("Barn Works", "Gate 3")
    assert not status.has_smart_machine_credentials
    networks = await asyncio.wait_for(client.get_network_list(), 60)
    ssid = os.environ["PROVISIONING_SSID"]
    assert ssid in [network.ssid for network in networks]
    cloud = json.loads(os.environ["PROVISIONING_CREDENTIALS"])["cloud"]
    given = CloudConfig(id=cloud["id"], secret=cloud["secret"], app_address=cloud["app_address"])
    await asyncio.wait_for(client.set_smart_machine_credentials(given), 60)
    await asyncio.wait_for(client.set_network_credentials("wifi", ssid, os.environ["PROVISIONING_PSK"]), 60)
    await asyncio.wait_for(ProvisioningServiceStub(channel).ExitProvisioning(ExitProvisioningRequest()), 60)
    channel.close()


def test_device() -> None:
    asyncio.run(provision())
