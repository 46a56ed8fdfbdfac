import type { ErrorRow } from '../error-row.ts';

/** Training jobs, scripts, runners and clusters. */
export const trainingErrors = {
  TRAINING_JOB_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no training job[ {jobId}].',
    remedy: 'Check the id; jobs of other organizations are not visible.',
  },
  JOB_FINISHED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The training job[ {jobId}] has ended already[: {status}].',
    remedy: 'Nothing is left to stop; the job can be deleted.',
  },
  JOB_NOT_FINISHED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The training job[ {jobId}] has not ended yet[: {status}].',
    remedy: 'Wait for its end or cancel it first.',
  },
  TRAINER_FAILED: {
    rpc: 'internal',
    retry: 'later',
    message: 'The trainer failed[: {problem}].',
    remedy: 'See the log of the job for the cause.',
  },
  TRAINING_TIMED_OUT: {
    rpc: 'deadline_exceeded',
    retry: 'never',
    message: 'The training took longer than its limit[ of {limitSeconds} s].',
    remedy:
      'Raise the time limit of the job, or let it do less: a built-in trainer with fewer epochs (argument epochs) or the recipe probe, a training script by its own arguments.',
  },
  OUT_OF_MEMORY: {
    rpc: 'resource_exhausted',
    retry: 'later',
    message: 'The training used {usedMib} MiB of memory; its limit is {limitMib} MiB[: {problem}].',
    remedy:
      'Raise the memory limit of the job, or let it use less: a built-in trainer with smaller images (argument side), a training script with smaller batches.',
  },
  LEASE_LOST: {
    rpc: 'aborted',
    retry: 'never',
    message: 'Attempt[ {attempt}] of the training job[ {jobId}] no longer belongs to this runner.',
    remedy: 'Nothing: the runner drops the attempt; another attempt goes on.',
  },
  RUNNER_STOPPED: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'The runner was shut down while it ran the job.',
    remedy: 'Nothing: the job goes back to the queue and is tried again.',
  },
  SANDBOX_UNAVAILABLE: {
    rpc: 'failed_precondition',
    retry: 'later',
    message: 'This host cannot run the training in a sandbox: {problem}.',
    remedy: 'Install bubblewrap (Debian: apt-get install bubblewrap), allow it to make its sandbox, and try again.',
  },
  SCRIPTS_NOT_OFFERED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'No runner of the organization can run training scripts[: {problem}].',
    remedy: 'Start a runner that can, or mend what keeps the runner from it; the list of runners says what that is.',
  },
  CONTAINER_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'No runner of the organization offers the container "{container}"[; there are: {known}].',
    remedy: 'Choose one of ListSupportedContainers, or leave container_version empty for the default of the runner.',
  },
  SCRIPT_ARCHIVE_INVALID: {
    rpc: 'invalid_argument',
    retry: 'never',
    message: 'The archive of the training script cannot be used: {problem}[ (entry "{entry}")].',
    remedy:
      'Pack a .tar.gz of regular files with setup.py (or pyproject.toml) and model/training.py, at the top or in one top folder.',
  },
  SCRIPT_BUILD_FAILED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The packages that the training script depends on could not be installed[: {problem}].',
    remedy:
      'See the log of the job for the words of pip. Choose a container that has them, or ask who runs the runner for --wheelhouse or --pip-index-url.',
  },
  SCRIPT_DISK_LIMIT: {
    rpc: 'resource_exhausted',
    retry: 'never',
    message: 'The training script wrote more than it may: {used}; the limit is {limit}.',
    remedy: 'Write less to the output folder and to /tmp, or raise the disk limit of the job.',
  },
  SCRIPT_FAILED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The training script failed: {problem}.',
    remedy: 'See the log of the job for the cause, correct the script and upload it as a new version.',
  },
  SCRIPT_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no training script[ {registryItemId}][ in version {version}].',
    remedy: 'Check registry_item_id (namespace:name) and registry_item_version.',
  },
  SCRIPT_VERSION_TAKEN: {
    rpc: 'already_exists',
    retry: 'never',
    message: 'Version {version} of {kind} {name} was published before.',
    remedy:
      'Publish it under another version: what a version holds never changes, and a deleted one is not free again.',
  },
  ENGINE_JOB_CANCELED: {
    rpc: 'aborted',
    retry: 'never',
    message: '{engine} job {ref} was canceled by an operator of the cluster[: {problem}].',
    remedy: 'Ask who runs the cluster, then submit the job again.',
  },
  ENGINE_JOB_LOST: {
    rpc: 'unavailable',
    retry: 'later',
    message: '{engine} job {ref} ended before the training did[: {problem}].',
    remedy: 'The job is tried again; should it happen each time, look at that job and its node in the engine.',
  },
  ENGINE_JOB_STUCK: {
    rpc: 'failed_precondition',
    retry: 'later',
    message: '{engine} job {ref} did not start within {minutes} minutes[: {problem}].',
    remedy: 'Mend what the engine names, for example the image or the node selector of the runner, then submit again.',
  },
  ENGINE_REFUSED: {
    rpc: 'failed_precondition',
    retry: 'later',
    message: '{engine} refuses the job[: {problem}].',
    remedy:
      'Check partition, account, GPUs, memory and time limit that the runner asks for, and the rights of its user there.',
  },
  ENGINE_UNREACHABLE: {
    rpc: 'unavailable',
    retry: 'later',
    message: '{engine} cannot be reached[ at {url}][: {problem}].',
    remedy: 'Check the address, the token and whether the engine runs; the runner tries again.',
  },
} as const satisfies Record<string, ErrorRow>;
