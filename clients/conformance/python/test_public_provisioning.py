"""The unmodified public Python SDK provisions a device: its client, and its stub for the call without a function."""

from __future__ import annotations

import asyncio
import os

import pytest
from grpclib import GRPCError, Status
from grpclib.client import Channel
from viam.app.provisioning_client import ProvisioningClient
from viam.gen.provisioning.v1.provisioning_grpc import ProvisioningServiceStub
from viam.proto.provisioning import APIKey, CloudConfig, ExitProvisioningRequest


async def provision(port: int) -> None:
    channel = Channel("127.0.0.1", port)
    client = ProvisioningClient(channel, {})
    status = await client.get_smart_machine_status()
    assert (status.provisioning_info.model, status.provisioning_info.manufacturer) == ("Rover 2", "Example Robotics")
    assert list(status.errors) == ["The password of barn is wrong."]
    assert status.latest_connection_attempt.last_error == "The password of barn is wrong."
    assert list((await client.get_smart_machine_status()).errors) == []
    networks = await client.get_network_list()
    assert [(network.ssid, network.security, network.signal) for network in networks] == [
        ("barn", "WPA2", 80),
        ("Café ☕", "-", 55),
        ("office", "WPA2 802.1X", 10),
    ]
    refused = [
        (client.set_network_credentials("wired", "barn", "x"), Status.UNKNOWN),
        (client.set_smart_machine_credentials(None), Status.UNKNOWN),
        (client.set_network_credentials("wifi", "x" * 2**20, "x"), Status.RESOURCE_EXHAUSTED),
    ]
    for call, code in refused:
        with pytest.raises(GRPCError) as caught:
            await asyncio.wait_for(call, 60)
        assert caught.value.status is code, caught.value
    cloud = CloudConfig(id="part", app_address="https://cloud.example:443", api_key=APIKey(id="half"))
    cloud.secret = "hush"
    await client.set_network_credentials("wifi", "Café ☕", "")
    await client.set_smart_machine_credentials(cloud)
    stub = ProvisioningServiceStub(channel)
    for _ in range(2):
        await stub.ExitProvisioning(ExitProvisioningRequest())
    channel.close()


def test_provisioning() -> None:
    asyncio.run(provision(int(os.environ["PROVISIONING_PORT"])))
