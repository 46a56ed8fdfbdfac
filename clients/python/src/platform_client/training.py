"""Training jobs of an organization; needs an API key with the owner role."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING

from platform_client.errors import PlatformError, is_passing, local_error
from platform_client.gen.platform.app.mltraining.v1 import ml_training_pb2 as pb
from platform_client.gen.platform.app.mltraining.v1.ml_training_grpc import MLTrainingServiceStub
from platform_client.job import (
    Container,
    JobResources,
    ModelFramework,
    TrainingJob,
    TrainingJobLogEntry,
    TrainingStatus,
    job_from,
)
from platform_client.times import duration, time_field

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

    from platform_client.connection import Connection

# How long the server holds its answer while a log has nothing new, in seconds.
_HOLD = 20.0


class MLTrainingClient:
    """Submit, watch, cancel and delete training jobs. All calls raise `PlatformError`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def submit_training_job(
        self,
        org_id: str,
        dataset_id: str,
        model_name: str,
        model_version: str,
        model_type: int,
        tags: Sequence[str],
        *,
        model_framework: ModelFramework = ModelFramework.UNSPECIFIED,
        arguments: Mapping[str, str] | None = None,
        resources: JobResources | None = None,
    ) -> str:
        """Queues a training of a built-in model type. The dataset is frozen at this moment.

        Args:
            org_id: The organization.
            dataset_id: The images to learn from.
            model_name: Name of the model to make.
            model_version: Never used before for this model name, whatever became of that job.
            model_type: A `ModelType`.
            tags: The labels to learn.
            model_framework: Default: the server's.
            arguments: Settings of the trainer, for example ``{"recipe": "probe"}``; unknown ones are refused.
            resources: Default: the server's.

        Returns:
            The ID of the job.

        Raises:
            PlatformError: MODEL_VERSION_TAKEN, DATASET_NOT_FOUND, DATASET_EMPTY, TOO_FEW_LABELS, TOO_FEW_IMAGES,
                NOT_OWNER.

        Example::

            job_id = await client.ml_training_client.submit_training_job(
                org_id, dataset_id, "things", "1", ModelType.SINGLE_LABEL_CLASSIFICATION, ["cup", "pen"]
            )
        """
        request = pb.SubmitTrainingJobRequest(
            organization_id=org_id,
            dataset_id=dataset_id,
            model_name=model_name,
            model_version=model_version,
            model_type=pb.ModelType.ValueType(model_type),
            tags=tags,
            model_framework=pb.ModelFramework.ValueType(model_framework),
            arguments=arguments or {},
            resources=_resources(resources),
        )
        answer = await self._connection.unary(lambda c: MLTrainingServiceStub(c).SubmitTrainingJob, request)
        return answer.id

    async def submit_custom_training_job(
        self,
        org_id: str,
        dataset_id: str,
        registry_item_id: str,
        registry_item_version: str,
        model_name: str,
        model_version: str,
        *,
        arguments: Mapping[str, str] | None = None,
        container_version: str = "",
        resources: JobResources | None = None,
    ) -> str:
        """Queues a run of a training script of the registry.

        Args:
            org_id: The organization.
            dataset_id: The images to learn from.
            registry_item_id: ``<namespace or organization ID>:<name>`` of the script.
            registry_item_version: Version of the script; ``latest``: the one published last.
            model_name: Name of the model to make.
            model_version: Never used before for this model name.
            arguments: Passed to the script as ``--key=value``.
            container_version: Key of `list_supported_containers`; empty: the default of the runner.
            resources: Default: the server's.

        Returns:
            The ID of the job.

        Raises:
            PlatformError: SCRIPT_NOT_FOUND, CONTAINER_NOT_FOUND, SCRIPTS_NOT_OFFERED, MODEL_VERSION_TAKEN,
                DATASET_NOT_FOUND, DATASET_EMPTY, NOT_OWNER.

        Example::

            job_id = await client.ml_training_client.submit_custom_training_job(
                org_id, dataset_id, f"{org_id}:my-script", "1", "things", "2", arguments={"epochs": "5"}
            )
        """
        request = pb.SubmitCustomTrainingJobRequest(
            organization_id=org_id,
            dataset_id=dataset_id,
            registry_item_id=registry_item_id,
            registry_item_version=registry_item_version,
            model_name=model_name,
            model_version=model_version,
            arguments=arguments or {},
            container_version=container_version,
            resources=_resources(resources),
        )
        answer = await self._connection.unary(lambda c: MLTrainingServiceStub(c).SubmitCustomTrainingJob, request)
        return answer.id

    async def get_training_job(self, id: str) -> TrainingJob:
        """A job with its progress, metrics and, at its end, evaluation.

        Raises:
            PlatformError: TRAINING_JOB_NOT_FOUND.

        Example::

            job = await client.ml_training_client.get_training_job(job_id)
            print(job.status.name, f"{job.progress:.0%}", job.eta)
        """
        return await self._job(id, self._connection.timeout)

    async def _job(self, id: str, timeout: float) -> TrainingJob:
        request = pb.GetTrainingJobRequest(id=id)
        answer = await self._connection.unary(
            lambda c: MLTrainingServiceStub(c).GetTrainingJob, request, repeat=True, timeout=timeout
        )
        if not answer.HasField("metadata"):
            raise local_error("TRAINING_JOB_NOT_FOUND", f"There is no training job {id}.", {"jobId": id})
        return job_from(answer.metadata)

    async def list_training_jobs(self, org_id: str, training_status: int | None = None) -> list[TrainingJob]:
        """Jobs of an organization, newest first, without evaluation and metrics.

        Args:
            org_id: The organization.
            training_status: A `TrainingStatus`; None: all jobs.

        Example::

            running = await client.ml_training_client.list_training_jobs(org_id, TrainingStatus.RUNNING)
        """
        return [job async for page in self.pages_of_training_jobs(org_id, training_status) for job in page]

    async def pages_of_training_jobs(
        self, org_id: str, training_status: int | None = None, *, page_size: int = 500
    ) -> AsyncIterator[list[TrainingJob]]:
        """The same page by page, for organizations with very many jobs.

        Args:
            org_id: The organization.
            training_status: A `TrainingStatus`; None: all jobs.
            page_size: 1 to 1000.

        Example::

            async for page in client.ml_training_client.pages_of_training_jobs(org_id):
                print([job.id for job in page])
        """
        token = ""
        while True:
            request = pb.ListTrainingJobsRequest(
                organization_id=org_id,
                status=pb.TrainingStatus.ValueType(training_status or TrainingStatus.UNSPECIFIED),
                page_size=page_size,
                page_token=token,
            )
            answer = await self._connection.unary(
                lambda c: MLTrainingServiceStub(c).ListTrainingJobs, request, repeat=True
            )
            yield [job_from(job) for job in answer.jobs]
            token = answer.next_page_token
            if token == "":
                return

    async def cancel_training_job(self, id: str) -> None:
        """Asks a job to stop; it becomes CANCELING, then CANCELED.

        Raises:
            PlatformError: TRAINING_JOB_NOT_FOUND, JOB_FINISHED.
        """
        request = pb.CancelTrainingJobRequest(id=id)
        await self._connection.unary(lambda c: MLTrainingServiceStub(c).CancelTrainingJob, request)

    async def delete_completed_training_job(self, id: str) -> None:
        """Deletes a job that ended, whether it succeeded or failed; its model version stays.

        Raises:
            PlatformError: TRAINING_JOB_NOT_FOUND, JOB_NOT_FINISHED.
        """
        request = pb.DeleteCompletedTrainingJobRequest(id=id)
        await self._connection.unary(lambda c: MLTrainingServiceStub(c).DeleteCompletedTrainingJob, request)

    async def get_training_job_logs(self, id: str) -> AsyncIterator[TrainingJobLogEntry]:
        """The lines that a job has logged until now, oldest first.

        Raises:
            PlatformError: TRAINING_JOB_NOT_FOUND.

        Example::

            async for line in client.ml_training_client.get_training_job_logs(job_id):
                print(line.time, line.level, line.message)
        """
        token = ""
        while True:
            page = await self._log_page(id, token, 0, self._connection.timeout)
            for line in page.logs:
                yield _log_entry(line)
            token = page.next_page_token
            if token == "" or not page.logs:
                return

    async def follow_training_job_logs(
        self, id: str, *, offline_time: float = 60.0
    ) -> AsyncIterator[TrainingJobLogEntry]:
        """All lines of a job as they come, until it has ended.

        Args:
            id: The job.
            offline_time: How long the server may be away meanwhile, in seconds; no line is lost or doubled by it.

        Raises:
            PlatformError: TRAINING_JOB_NOT_FOUND; OFFLINE when the server stays away.
        """
        token = ""
        bridge = _Bridge(offline_time)
        # A server that holds the call says nothing meanwhile: it must answer well before it counts as away.
        hold = min(_HOLD, max(offline_time / 2, 1.0))
        while True:
            try:
                page = await self._log_page(
                    id, token, hold, max(bridge.limit(self._connection.timeout + hold), hold + 1)
                )
            except PlatformError as error:
                await bridge.wait(error)
                continue
            bridge.answered()
            for line in page.logs:
                yield _log_entry(line)
            token = page.next_page_token
            if token == "":
                return

    async def list_supported_containers(self) -> list[Container]:
        """The environments that training scripts can ask for, by key."""
        answer = await self._connection.unary(
            lambda c: MLTrainingServiceStub(c).ListSupportedContainers, pb.ListSupportedContainersRequest(), repeat=True
        )
        return [
            Container(key, one.uri, one.framework, one.description, time_field(one, "eol"))
            for key, one in sorted(answer.container_map.items())
        ]

    async def wait_for_training_job(
        self,
        id: str,
        *,
        on_progress: Callable[[TrainingJob], Awaitable[None] | None] | None = None,
        timeout: float | None = None,
        every: float = 1.0,
        offline_time: float = 60.0,
    ) -> TrainingJob:
        """Waits until a job ended and returns it: COMPLETED, FAILED or CANCELED.

        Args:
            id: The job.
            on_progress: Called (and awaited) with the job whenever it was read.
            timeout: Longest time to wait, in seconds; None: as long as it takes. The job goes on.
            every: Time between two looks, in seconds.
            offline_time: How long the server may be away meanwhile, in seconds.

        Raises:
            TimeoutError: The job has not ended within ``timeout``.
            PlatformError: TRAINING_JOB_NOT_FOUND; OFFLINE when the server stays away.

        Example::

            job = await client.ml_training_client.wait_for_training_job(
                job_id, on_progress=lambda job: print(job.phase, f"{job.progress:.0%}")
            )
        """
        clock = asyncio.get_running_loop().time
        until = None if timeout is None else clock() + timeout
        bridge = _Bridge(offline_time)
        known = "unknown"
        while True:
            job = None
            try:
                look = self._job(id, bridge.limit(self._connection.timeout))
                job = await asyncio.wait_for(look, None if until is None else until - clock())
            except asyncio.TimeoutError:
                # The wait timed out, not the call: its failures are PlatformErrors. Raised below.
                pass
            except PlatformError as error:
                await bridge.wait(error)
            if job is not None:
                bridge.answered()
                known = job.status.name
                if on_progress is not None:
                    called = on_progress(job)
                    if inspect.isawaitable(called):
                        await called
                if job.has_ended:
                    return job
            if until is not None and clock() >= until:
                raise TimeoutError(f"The training job {id} has not ended within {timeout:g} s; it is {known}.")
            left = every if until is None else min(every, until - clock())
            await asyncio.sleep(max(left, 0))

    async def _log_page(self, id: str, token: str, hold: float, limit: float) -> pb.GetTrainingJobLogsResponse:
        request = pb.GetTrainingJobLogsRequest(id=id, page_token=token, wait=duration(hold) if hold else None)
        return await self._connection.unary(
            lambda c: MLTrainingServiceStub(c).GetTrainingJobLogs, request, repeat=True, timeout=limit
        )


class _Bridge:
    """Lets passing failures pass until the server was away for too long."""

    def __init__(self, longest: float) -> None:
        self._longest = longest
        self._clock = asyncio.get_running_loop().time
        self._last_seen = self._clock()

    def limit(self, timeout: float) -> float:
        """Longest time of the next call: one that hangs must not outlast what may be bridged."""
        left = self._longest - (self._clock() - self._last_seen)
        return min(timeout, left) if left > 0 else timeout

    def answered(self) -> None:
        self._last_seen = self._clock()

    async def wait(self, error: PlatformError) -> None:
        if not is_passing(error) or self._clock() - self._last_seen >= self._longest:
            raise error
        await asyncio.sleep(0.5)


def _resources(given: JobResources | None) -> pb.JobResources | None:
    if given is None:
        return None
    return pb.JobResources(
        gpus=given.gpus or 0,
        time_limit=None if given.time_limit is None else duration(given.time_limit),
        memory_mib=given.memory_mib or 0,
        disk_mib=given.disk_mib or 0,
    )


def _log_entry(line: pb.TrainingJobLogEntry) -> TrainingJobLogEntry:
    return TrainingJobLogEntry(line.level, time_field(line, "time"), line.message)
