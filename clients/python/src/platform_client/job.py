"""What a training job looks like."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from platform_client.times import duration_field, json_object, time_field

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, timedelta

    from platform_client.gen.platform.app.mltraining.v1 import ml_training_pb2


class ModelType(IntEnum):
    """What a built-in training makes. Every value has two names: with and without its prefix."""

    UNSPECIFIED = 0
    SINGLE_LABEL_CLASSIFICATION = 1
    MULTI_LABEL_CLASSIFICATION = 2
    OBJECT_DETECTION = 3
    MODEL_TYPE_UNSPECIFIED = 0
    MODEL_TYPE_SINGLE_LABEL_CLASSIFICATION = 1
    MODEL_TYPE_MULTI_LABEL_CLASSIFICATION = 2
    MODEL_TYPE_OBJECT_DETECTION = 3

    @classmethod
    def _missing_(cls, value: object) -> ModelType | None:  # noqa: ARG003
        # One of a newer server.
        return cls.UNSPECIFIED


class ModelFramework(IntEnum):
    """Form of a model."""

    UNSPECIFIED = 0
    TFLITE = 1
    TENSORFLOW = 2
    PYTORCH = 3
    ONNX = 4

    @classmethod
    def _missing_(cls, value: object) -> ModelFramework | None:  # noqa: ARG003
        return cls.UNSPECIFIED


class TrainingStatus(IntEnum):
    """COMPLETED, FAILED and CANCELED are final. RUNNING is another name of IN_PROGRESS.

    Every value has two names: with and without its prefix.
    """

    UNSPECIFIED = 0
    PENDING = 1
    IN_PROGRESS = 2
    RUNNING = 2
    COMPLETED = 3
    FAILED = 4
    CANCELED = 5
    CANCELING = 6
    TRAINING_STATUS_UNSPECIFIED = 0
    TRAINING_STATUS_PENDING = 1
    TRAINING_STATUS_IN_PROGRESS = 2
    TRAINING_STATUS_RUNNING = 2
    TRAINING_STATUS_COMPLETED = 3
    TRAINING_STATUS_FAILED = 4
    TRAINING_STATUS_CANCELED = 5
    TRAINING_STATUS_CANCELING = 6

    @classmethod
    def _missing_(cls, value: object) -> TrainingStatus | None:  # noqa: ARG003
        return cls.UNSPECIFIED


@dataclass(frozen=True)
class JobResources:
    """What a job may use; None: the default of the server.

    Attributes:
        gpus: The job waits for a runner with this number.
        time_limit: Longest time of one run, in seconds.
        memory_mib: Memory in MiB.
        disk_mib: Disk in MiB.
    """

    gpus: int | None = None
    time_limit: float | None = None
    memory_mib: int | None = None
    disk_mib: int | None = None


@dataclass(frozen=True)
class JobError:
    """Why a job failed: gRPC status number, and a sentence that begins with a row of the error table."""

    code: int
    message: str


@dataclass(frozen=True)
class JobScore:
    """The main figure of an evaluation: ``accuracy``, ``micro_f1`` or ``map50``, 0..1."""

    name: str
    value: float


@dataclass(frozen=True)
class JobMetric:
    """Figures of one moment of a training, for example ``{"epoch": 3, "validation_accuracy": 0.9}``."""

    time: datetime | None
    values: Mapping[str, Any]


@dataclass(frozen=True)
class TrainingJob:
    """A training job.

    Attributes:
        id: Pass it to the other operations.
        status: Where its life stands.
        created_on: When it was submitted.
        last_modified: When it changed last.
        training_started: When the first run began.
        training_ended: When it came to its end.
        organization_id: Its organization.
        dataset_id: What it trains on, as named at submit.
        dataset_version_id: The frozen content of that dataset.
        model_name: Name of the model.
        model_version: Version of the model.
        model_type: UNSPECIFIED for scripts that do not say.
        model_framework: Form of the model.
        tags: The labels to learn.
        is_custom_job: Whether a script of the registry runs.
        registry_item_id: That script, as ``<namespace or organization ID>:<name>``.
        registry_item_version: Its version.
        arguments: What was passed to trainer or script.
        container_version: The environment of the script.
        synced_model_id: ``<organization ID>/<model name>`` once the version is published, else empty.
        error: Set when FAILED.
        cause: Why it failed: ``script``, ``data`` or ``infrastructure``; else empty.
        phase: ``queued``, ``preparing``, ``training``, ``evaluating``, ``exporting`` or ``uploading``.
        progress: 0..1 over the whole job.
        eta: Estimated time left; None while unknown.
        attempt: 1 for the first run; more after a runner was lost.
        queue_position: 1 is next in line; 0: not waiting.
        waiting_for: Why a waiting job does not start.
        deadline: When the current run must be over.
        runner_id: The runner that has it, or had it last.
        score: The main figure, once COMPLETED.
        evaluation: All figures of the evaluation; only from ``get_training_job``.
        metrics: Figures over time; only from ``get_training_job``.
    """

    id: str
    status: TrainingStatus
    created_on: datetime | None
    last_modified: datetime | None
    training_started: datetime | None
    training_ended: datetime | None
    organization_id: str
    dataset_id: str
    dataset_version_id: str
    model_name: str
    model_version: str
    model_type: ModelType
    model_framework: ModelFramework
    tags: tuple[str, ...]
    is_custom_job: bool
    registry_item_id: str
    registry_item_version: str
    arguments: Mapping[str, str]
    container_version: str
    synced_model_id: str
    error: JobError | None
    cause: str
    phase: str
    progress: float
    eta: timedelta | None
    attempt: int
    queue_position: int
    waiting_for: str
    deadline: datetime | None
    runner_id: str
    score: JobScore | None
    evaluation: Mapping[str, Any] | None
    metrics: tuple[JobMetric, ...]

    @property
    def has_ended(self) -> bool:
        """Whether it reached its end, whatever its result."""
        return self.status in (TrainingStatus.COMPLETED, TrainingStatus.FAILED, TrainingStatus.CANCELED)


@dataclass(frozen=True)
class TrainingJobLogEntry:
    """One line of a job's log. An error line does not mean that the job fails: its status alone counts."""

    level: str
    time: datetime | None
    message: str


@dataclass(frozen=True)
class Container:
    """An environment for training scripts; ``eol``: the end of support for what it is made of."""

    key: str
    uri: str
    framework: str
    description: str
    eol: datetime | None


def job_from(message: ml_training_pb2.TrainingJobMetadata) -> TrainingJob:
    """A job as the server sent it."""
    error = message.error_status
    return TrainingJob(
        id=message.id,
        status=TrainingStatus(message.status),
        created_on=time_field(message, "created_on"),
        last_modified=time_field(message, "last_modified"),
        training_started=time_field(message, "training_started"),
        training_ended=time_field(message, "training_ended"),
        organization_id=message.organization_id,
        dataset_id=message.dataset_id,
        dataset_version_id=message.dataset_version_id,
        model_name=message.model_name,
        model_version=message.model_version,
        model_type=ModelType(message.model_type),
        model_framework=ModelFramework(message.model_framework),
        tags=tuple(message.tags),
        is_custom_job=message.is_custom_job,
        registry_item_id=message.registry_item_id,
        registry_item_version=message.registry_item_version,
        arguments=dict(message.arguments),
        container_version=message.container_version,
        synced_model_id=message.synced_model_id,
        error=JobError(error.code, error.message) if message.HasField("error_status") else None,
        cause=message.cause,
        phase=message.phase,
        progress=message.progress,
        eta=duration_field(message, "eta"),
        attempt=message.attempt,
        queue_position=message.queue_position,
        waiting_for=message.waiting_for,
        deadline=time_field(message, "deadline"),
        runner_id=message.runner_id,
        score=JobScore(message.score.name, message.score.value) if message.HasField("score") else None,
        evaluation=json_object(message.evaluation) if message.HasField("evaluation") else None,
        metrics=tuple(JobMetric(time_field(one, "time"), json_object(one.values)) for one in message.metrics),
    )
