"""The client: one caller of one server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from platform_client.connection import Connection
from platform_client.credentials import Credentials, chosen_credentials
from platform_client.data import DataClient
from platform_client.dataset import DatasetClient
from platform_client.gen.platform.session.v1 import session_pb2
from platform_client.gen.platform.session.v1.session_grpc import SessionServiceStub
from platform_client.registry import ModelClient, TrainingScriptClient
from platform_client.training import MLTrainingClient

if TYPE_CHECKING:
    from types import TracebackType


@dataclass(frozen=True)
class Organization:
    """An organization of the caller, and its role there: ``owner``, ``operator`` or ``runner``."""

    id: str
    name: str
    role: str


class PlatformClient:
    """One caller of one server. Make it with `create`; it belongs to the event loop of its first call.

    Attributes:
        url: Address of the server, without a slash at its end.
        ml_training_client: Training jobs.
        data_client: Images and files.
        dataset_client: Datasets.
        model_client: Versions of models.
        training_script_client: Versions of training scripts.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.url = connection.url
        self.ml_training_client = MLTrainingClient(connection)
        self.data_client = DataClient(connection)
        self.dataset_client = DatasetClient(connection)
        self.model_client = ModelClient(connection)
        self.training_script_client = TrainingScriptClient(connection)

    @classmethod
    def create(
        cls,
        url: str | None = None,
        *,
        api_key_id: str | None = None,
        api_key: str | None = None,
        credentials: Credentials | None = None,
        timeout: float = 60.0,
        retry_time: float = 10.0,
        ca_file: str | None = None,
    ) -> PlatformClient:
        """Makes a client. Nothing is sent before the first call, which authenticates by itself.

        Args:
            url: For example ``http://127.0.0.1:8080``. Default: PLATFORM_URL of the environment, or PLATFORM_BASE_URL,
                which training scripts have.
            api_key_id: ID of the API key. Default: PLATFORM_API_KEY_ID of the environment, or API_KEY_ID.
            api_key: The key. Default: PLATFORM_API_KEY of the environment, or API_KEY.
            credentials: In place of the two: who calls.
            timeout: Longest time of one call, in seconds, with its sign-in, its connection and its repetitions.
            retry_time: How long reads and sign-ins are repeated while the server is away, in seconds; never beyond
                ``timeout``.
            ca_file: Certificates (PEM) to trust in place of the system's, for https.

        Raises:
            PlatformError: INVALID_ARGUMENT when address or key are neither given nor in the environment.

        Example::

            credentials = Credentials(type="api-key", auth_entity="<API_KEY_ID>", payload="<API_KEY>")
            async with PlatformClient.create("http://127.0.0.1:8080", credentials=credentials) as client:
                jobs = await client.ml_training_client.list_training_jobs(org_id)
        """
        caller = chosen_credentials(api_key_id, api_key, credentials)
        return cls(Connection(url, caller, timeout=timeout, retry_time=retry_time, ca_file=ca_file))

    async def list_organizations(self) -> list[Organization]:
        """The organizations that the caller belongs to."""
        answer = await self._connection.unary(
            lambda c: SessionServiceStub(c).WhoAmI, session_pb2.WhoAmIRequest(), repeat=True
        )
        return [Organization(one.organization_id, one.organization_name, one.role) for one in answer.memberships]

    def close(self) -> None:
        """Ends the connection."""
        self._connection.close()

    async def __aenter__(self) -> PlatformClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
