"""A training is awaited, its log followed and images uploaded while the server is killed and restarted."""

from __future__ import annotations

import asyncio
import json
import os

from platform_client import (
    Filter,
    ImageUpload,
    ModelType,
    PlatformClient,
    PlatformError,
    TrainingJob,
    TrainingStatus,
    is_passing,
)

from images import flat, image

LABELS = ["dark", "light"]
UPLOADS = 150


async def main() -> None:
    org_id = os.environ["ORG_ID"]
    # Calls give up at once: what follows has to bridge the outage by itself.
    async with PlatformClient.create(retry_time=0) as impatient, PlatformClient.create() as client:
        training, data = impatient.ml_training_client, client.data_client
        learned = await client.dataset_client.create_dataset("outage", org_id)
        other = await client.dataset_client.create_dataset("outage uploads", org_id)
        images = (ImageUpload(image(n, is_dark=n % 2 == 1), tags=[LABELS[1 - n % 2]]) for n in range(24))
        await data.upload_images(images, dataset_ids=[learned])
        kind = ModelType.SINGLE_LABEL_CLASSIFICATION
        job_id = await training.submit_training_job(org_id, learned, "outage", "1", kind, LABELS)

        began = asyncio.Event()
        away = asyncio.Event()

        def look(job: TrainingJob) -> None:
            if job.status is TrainingStatus.IN_PROGRESS and not began.is_set():
                began.set()
                print("kill now")

        async def notice() -> None:
            await began.wait()
            while True:
                try:
                    await training.list_training_jobs(org_id)
                except PlatformError as error:
                    if not is_passing(error):
                        raise
                    away.set()
                    return

        async def upload() -> list[str]:
            await began.wait()
            return await data.upload_images((ImageUpload(flat(n)) for n in range(UPLOADS)), dataset_ids=[other])

        async def follow() -> list[str]:
            return [line.message async for line in training.follow_training_job_logs(job_id)]

        job, followed, uploaded, _ = await asyncio.gather(
            training.wait_for_training_job(job_id, on_progress=look, every=0.1, timeout=240),
            follow(),
            upload(),
            notice(),
        )
        logged = [line.message async for line in training.get_training_job_logs(job_id)]
        stored = await data.count_binary_data(Filter(dataset_id=other))
        report = {
            "status": job.status.name,
            "was_away": away.is_set(),
            "log_is_whole": followed == logged and len(logged) > 2,
            "uploaded": len(set(uploaded)),
            "stored": stored.count,
        }
        print(json.dumps(report))


asyncio.run(main())
