"""Datasets: named sets of images of an organization."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from platform_client.gen.platform.app.dataset.v1 import dataset_pb2 as pb
from platform_client.gen.platform.app.dataset.v1.dataset_grpc import DatasetServiceStub
from platform_client.times import time_field

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from platform_client.connection import Connection


@dataclass(frozen=True)
class Dataset:
    """A named set of images."""

    id: str
    name: str
    organization_id: str
    time_created: datetime | None


class DatasetClient:
    """Datasets of an organization. Membership is in the data client. All calls raise `PlatformError`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def create_dataset(self, name: str, organization_id: str) -> str:
        """Returns the ID of the new dataset.

        Raises:
            PlatformError: DATASET_NAME_TAKEN, ORGANIZATION_NOT_FOUND.

        Example::

            dataset_id = await client.dataset_client.create_dataset("things", org_id)
        """
        request = pb.CreateDatasetRequest(name=name, organization_id=organization_id)
        answer = await self._connection.unary(lambda c: DatasetServiceStub(c).CreateDataset, request)
        return answer.id

    async def list_datasets_by_organization_id(self, organization_id: str) -> list[Dataset]:
        """All datasets of an organization, however many pages that takes."""
        datasets: list[Dataset] = []
        page_token = ""
        while True:
            request = pb.ListDatasetsByOrganizationIDRequest(organization_id=organization_id, page_token=page_token)
            answer = await self._connection.unary(
                lambda c: DatasetServiceStub(c).ListDatasetsByOrganizationID, request, repeat=True
            )
            datasets += [_dataset(one) for one in answer.datasets]
            page_token = answer.next_page_token
            if page_token == "":
                return datasets

    async def list_datasets_by_ids(self, ids: Sequence[str]) -> list[Dataset]:
        """The datasets of these IDs; unknown ones are left out."""
        request = pb.ListDatasetsByIDsRequest(ids=ids)
        answer = await self._connection.unary(lambda c: DatasetServiceStub(c).ListDatasetsByIDs, request, repeat=True)
        return [_dataset(one) for one in answer.datasets]

    async def rename_dataset(self, id: str, name: str) -> None:
        """Gives it another name.

        Raises:
            PlatformError: DATASET_NOT_FOUND, DATASET_NAME_TAKEN.
        """
        request = pb.RenameDatasetRequest(id=id, name=name)
        await self._connection.unary(lambda c: DatasetServiceStub(c).RenameDataset, request, repeat=True)

    async def delete_dataset(self, id: str) -> None:
        """Deletes the dataset; its images stay.

        Raises:
            PlatformError: DATASET_NOT_FOUND.
        """
        request = pb.DeleteDatasetRequest(id=id)
        await self._connection.unary(lambda c: DatasetServiceStub(c).DeleteDataset, request)

    async def merge_datasets(self, dataset_ids: Sequence[str], name: str, organization_id: str) -> str:
        """Returns the ID of a new dataset with the images of all.

        Raises:
            PlatformError: DATASET_NOT_FOUND, DATASET_NAME_TAKEN.
        """
        request = pb.MergeDatasetsRequest(dataset_ids=dataset_ids, name=name, organization_id=organization_id)
        answer = await self._connection.unary(lambda c: DatasetServiceStub(c).MergeDatasets, request)
        return answer.dataset_id


def _dataset(message: pb.Dataset) -> Dataset:
    return Dataset(message.id, message.name, message.organization_id, time_field(message, "time_created"))
