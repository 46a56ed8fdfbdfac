"""The unmodified public Python SDK: sequences, their datasets, and exports of these."""

from __future__ import annotations

import asyncio
import urllib.request
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from grpclib import Status
from viam.gen.app.dataset.v1.dataset_pb2 import (
    DATASET_TYPE_SEQUENCE_DATA,
    SEQUENCE_DATASET_EXPORT_STATUS_COMPLETED,
    SEQUENCE_DATASET_EXPORT_STATUS_RUNNING,
)
from viam.proto.app.data import SequenceResourceFilter

from place import UNKNOWN
from public_sdk import fails

if TYPE_CHECKING:
    from viam.app.viam_client import ViamClient

    from place import Place, Run


def downloaded(url: str) -> bytes:
    with urllib.request.urlopen(url) as answer:
        content: bytes = answer.read()
        return content


def test_sequences_and_their_export(place: Place, sdk: ViamClient, part_id: str, run: Run) -> None:
    async def story() -> None:
        data = sdk.data_client
        times = [datetime(2026, 2, 1, 0, n, tzinfo=UTC) for n in range(5)]
        for when in times:
            await data.binary_data_capture_upload(
                binary_data=f"image of {when}".encode(),
                part_id=part_id,
                component_type="camera",
                component_name="wrist",
                method_name="GetImages",
                file_extension=".png",
                data_request_times=(when, when),
            )
        resources = [SequenceResourceFilter(resource_name="wrist", method_name="GetImages")]
        made = await data.create_sequence(part_id, resources, times[0], times[3], ["left"])
        found = await data.get_sequence(made)
        assert (list(found.sequence_tags), found.part_id, list(found.dataset_ids)) == (["left"], part_id, [])
        await data.update_sequence(made, sequence_tags=[], end_time=times[2])
        found = await data.get_sequence(made)
        assert (list(found.sequence_tags), found.end_time.ToDatetime(UTC)) == ([], times[2])
        images, more = await data.get_sequence_binary_data(made)
        assert ([one.metadata.time_requested.ToDatetime(UTC) for one in images], more) == (times[:2], "")

        dataset_id = await data.create_dataset("python sequences", place.org_id, DATASET_TYPE_SEQUENCE_DATA)
        await fails(data.add_sequences_to_dataset(dataset_id, [UNKNOWN]), Status.NOT_FOUND, "SEQUENCE_NOT_FOUND")
        await data.add_sequences_to_dataset(dataset_id, [made])
        members, _, count = await data.sequences_by_dataset_id(dataset_id)
        assert ([one.id for one in members], count) == ([made], 1)
        listed, _ = await data.list_sequences(place.org_id)
        assert made in [one.id for one in listed]

        job_id = await data.start_sequence_dataset_export(dataset_id)
        while True:
            job = await data.get_sequence_dataset_export(job_id)
            if job.status != SEQUENCE_DATASET_EXPORT_STATUS_RUNNING:
                break
            await asyncio.sleep(0.2)
        assert job.status == SEQUENCE_DATASET_EXPORT_STATUS_COMPLETED, job.error_message
        assert job.expires_at.ToDatetime(UTC) > job.completed_at.ToDatetime(UTC)
        content = await asyncio.to_thread(downloaded, job.download_url)
        assert content[:4] == content[-4:] == b"PAR1"

        await data.remove_sequences_from_dataset(dataset_id, [made])
        assert (await data.sequences_by_dataset_id(dataset_id))[2] == 0
        await data.delete_sequence(made)
        await fails(data.get_sequence(made), Status.NOT_FOUND, "SEQUENCE_NOT_FOUND")
        await fails(data.get_sequence_dataset_export(UNKNOWN), Status.NOT_FOUND, "DATASET_EXPORT_NOT_FOUND")

    run(story())
