"""A typed, asynchronous client of the platform: images, datasets, training jobs, models.

Example::

    import asyncio
    from platform_client import ModelType, PlatformClient

    async def main() -> None:
        async with PlatformClient.create("http://127.0.0.1:8080", api_key_id="…", api_key="…") as client:
            for job in await client.ml_training_client.list_training_jobs("<organization ID>"):
                print(job.id, job.status.name)

    asyncio.run(main())
"""

from platform_client.client import Organization, PlatformClient
from platform_client.credentials import Credentials
from platform_client.data import DataClient, DataCount, Page
from platform_client.dataset import Dataset, DatasetClient
from platform_client.errors import PlatformError, is_passing
from platform_client.image import BinaryData, Box, Filter, ImageUpload
from platform_client.job import (
    Container,
    JobError,
    JobMetric,
    JobResources,
    JobScore,
    ModelFramework,
    ModelType,
    TrainingJob,
    TrainingJobLogEntry,
    TrainingStatus,
)
from platform_client.registry import ModelClient, PackageVersion, TrainingScriptClient
from platform_client.training import MLTrainingClient

__all__ = [
    "BinaryData",
    "Box",
    "Container",
    "Credentials",
    "DataClient",
    "DataCount",
    "Dataset",
    "DatasetClient",
    "Filter",
    "ImageUpload",
    "JobError",
    "JobMetric",
    "JobResources",
    "JobScore",
    "MLTrainingClient",
    "ModelClient",
    "ModelFramework",
    "ModelType",
    "Organization",
    "PackageVersion",
    "Page",
    "PlatformClient",
    "PlatformError",
    "TrainingJob",
    "TrainingJobLogEntry",
    "TrainingScriptClient",
    "TrainingStatus",
    "is_passing",
]
