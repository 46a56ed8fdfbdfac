import type { ErrorRow } from '../error-row.ts';

/** Training jobs, scripts, runners and clusters. */
export const trainingErrors = {
  TRAINING_JOB_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no training job[ {jobId}].',
    remedy: 'Check the ID; jobs of other organizations are not visible.',
  },
  JOB_FINISHED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The training job[ {jobId}] has already ended[: {status}].',
    remedy: 'No action is needed. You can delete the job.',
  },
  JOB_NOT_FINISHED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The training job[ {jobId}] has not ended[: {status}].',
    remedy: 'Wait until it ends, or cancel it first.',
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
      'Raise the time limit of the job or reduce the work. Built-in trainers: fewer epochs (argument epochs) or the recipe probe. Training scripts: their own arguments.',
  },
  OUT_OF_MEMORY: {
    rpc: 'resource_exhausted',
    retry: 'later',
    message: 'The training used {usedMib} MiB of memory; its limit is {limitMib} MiB[: {problem}].',
    remedy:
      'Raise the memory limit of the job or reduce its use. Built-in trainers: smaller images (argument side). Training scripts: smaller batches.',
  },
  LEASE_LOST: {
    rpc: 'aborted',
    retry: 'never',
    message: 'Attempt[ {attempt}] of the training job[ {jobId}] no longer belongs to this runner.',
    remedy: 'No action is needed. The runner stops this attempt; another attempt continues the job.',
  },
  RUNNER_STOPPED: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'The runner was shut down while it ran the job.',
    remedy: 'No action is needed. The job returns to the queue and is retried.',
  },
  SANDBOX_UNAVAILABLE: {
    rpc: 'failed_precondition',
    retry: 'later',
    message: 'This host cannot run the training in a sandbox: {problem}.',
    remedy: 'Install bubblewrap (Debian: apt-get install bubblewrap) and allow it to create its sandbox. Then retry.',
  },
  SCRIPTS_NOT_OFFERED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'No runner of the organization can run training scripts[: {problem}].',
    remedy: 'Start a runner that can, or remove the cause, which the list of runners shows for each runner.',
  },
  CONTAINER_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'No runner of the organization has the container "{container}"[; available: {known}].',
    remedy: "Choose one from ListSupportedContainers, or leave container_version empty for the runner's default.",
  },
  SCRIPT_ARCHIVE_INVALID: {
    rpc: 'invalid_argument',
    retry: 'never',
    message: 'The archive of the training script is invalid: {problem}[ (entry "{entry}")].',
    remedy:
      'Pack regular files as .tar.gz with setup.py (or pyproject.toml) and model/training.py, at the top or in one top folder.',
  },
  SCRIPT_BUILD_FAILED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The dependencies of the training script could not be installed[: {problem}].',
    remedy:
      "Read pip's output in the log of the job. Choose a container that has the packages, or ask the operator of the runner for --wheelhouse or --pip-index-url.",
  },
  SCRIPT_PACKAGES_MISSING: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The container {container} lacks packages that the training script requires: {packages}.',
    remedy:
      'Choose a container that has them, or ask the operator of the runner to install them[: {command}]. With --wheelhouse or --pip-index-url the runner installs them itself.',
  },
  SCRIPT_MODULE_MISSING: {
    rpc: 'failed_precondition',
    retry: 'never',
    message:
      'The training script failed: it imports {module}[ (package {package})], which the container {container} does not have.',
    remedy:
      'Name the package in requirements.txt, setup.py or pyproject.toml and upload a new version: then the runner installs it, or reports what its operator must install. Or choose a container that has it.',
  },
  SCRIPT_DISK_LIMIT: {
    rpc: 'resource_exhausted',
    retry: 'never',
    message: 'The training script wrote {used}; the limit is {limit}.',
    remedy: 'Write less to the output folder and to the working directory, or raise the disk limit of the job.',
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
    message: 'Version {version} of {kind} {name} is already taken.',
    remedy:
      'Publish under another version. The content of a version never changes, and a deleted version cannot be reused.',
  },
  ENGINE_JOB_CANCELED: {
    rpc: 'aborted',
    retry: 'never',
    message: '{engine} job {ref} was canceled by an operator of the cluster[: {problem}].',
    remedy: 'Ask the operator of the cluster, then submit the job again.',
  },
  ENGINE_JOB_LOST: {
    rpc: 'unavailable',
    retry: 'later',
    message: '{engine} job {ref} ended before the training was complete[: {problem}].',
    remedy: 'The training job is retried. If it happens again, inspect that job and its node in the cluster.',
  },
  ENGINE_JOB_STUCK: {
    rpc: 'failed_precondition',
    retry: 'later',
    message: '{engine} job {ref} did not start within {minutes} minutes[: {problem}].',
    remedy:
      'Correct what the cluster reports, for example the image or the node selector of the runner. Then submit again.',
  },
  ENGINE_REFUSED: {
    rpc: 'failed_precondition',
    retry: 'later',
    message: '{engine} rejects the job[: {problem}].',
    remedy:
      'Check the partition, account, GPUs, memory and time limit that the runner requests, and the permissions of its user in the cluster.',
  },
  ENGINE_UNREACHABLE: {
    rpc: 'unavailable',
    retry: 'later',
    message: '{engine} cannot be reached[ at {url}][: {problem}].',
    remedy: 'Check the URL and the token, and that the cluster runs. The runner retries.',
  },
} as const satisfies Record<string, ErrorRow>;
