/** Lower-case names of the gRPC status codes. */
export type RpcCode =
  | 'canceled'
  | 'unknown'
  | 'invalid_argument'
  | 'deadline_exceeded'
  | 'not_found'
  | 'already_exists'
  | 'permission_denied'
  | 'resource_exhausted'
  | 'failed_precondition'
  | 'aborted'
  | 'out_of_range'
  | 'unimplemented'
  | 'internal'
  | 'unavailable'
  | 'data_loss'
  | 'unauthenticated';

export interface ErrorRow {
  readonly rpc: RpcCode;
  /** May the same call be made again: never (it will fail again), later (with back-off), now (once, at once). */
  readonly retry: 'never' | 'later' | 'now';
  /** What happened; `{name}` is filled from the error's data, `[…]` is left out when its data is missing. */
  readonly message: string;
  /** What to do about it, whole sentences. */
  readonly remedy: string;
}

/** Every failure a person or a program may see, alphabetical. One row = wire code + what to do. Docs and UI are made from it. */
export const errorTable = {
  BINARY_DATA_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no picture or file[ {binaryDataId}].',
    remedy: 'Check binary_data_id; data of other organizations is not visible.',
  },
  BLOB_MISSING: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The file with sha256 {sha256} was not uploaded.',
    remedy: 'Upload it with PUT /blobs/<sha256> first, then repeat the call.',
  },
  BLOB_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no file with sha256 {sha256}.',
    remedy: 'Check the sha256; files of other organizations are not visible.',
  },
  BLOB_TOO_LARGE: {
    rpc: 'resource_exhausted',
    retry: 'never',
    message: 'The file[ of {sizeBytes} bytes] is larger than the limit of {limitBytes} bytes.',
    remedy: 'Send a smaller file, or raise the limit of the server.',
  },
  BOUNDING_BOX_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no bounding box[ {boundingBoxId}] in this picture.',
    remedy: 'Check bbox_id; ask for the picture again to see its boxes.',
  },
  CALL_TIMED_OUT: {
    rpc: 'deadline_exceeded',
    retry: 'later',
    message: 'The call took longer than the time that the caller gave it.',
    remedy: 'Give the call more time, or ask for less at once.',
  },
  CAMERA_FAILED: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'Camera {name} gave no picture[: {problem}].',
    remedy: 'Check the attributes of the camera in the configuration, and the folder or address they name.',
  },
  CONFIG_CONFLICT: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The configuration was changed meanwhile: it is at revision {revision}[, not {expectedRevision}].',
    remedy: 'Load the newest revision, make your change again and save.',
  },
  CONTAINER_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'No runner of the organization offers the container "{container}"[; there are: {known}].',
    remedy: 'Choose one of ListSupportedContainers, or leave container_version empty for the default of the runner.',
  },
  DATABASE_UNAVAILABLE: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'The database does not answer[: {problem}].',
    remedy: 'Try again in a moment. If it lasts, see the server log and check that the database runs.',
  },
  DATASET_EMPTY: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The dataset[ {datasetId}] holds no picture that can be trained on.',
    remedy: 'Add labelled pictures to the dataset.',
  },
  DATASET_NAME_TAKEN: {
    rpc: 'already_exists',
    retry: 'never',
    message: 'The organization has a dataset named "{name}" already.',
    remedy: 'Choose another name, or use the dataset that exists.',
  },
  DATASET_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no dataset[ {datasetId}].',
    remedy: 'Check dataset_id; datasets of other organizations are not visible.',
  },
  DATASET_TOO_LARGE: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The dataset[ {datasetId}] holds {count} pictures; one job takes at most {limit}.',
    remedy: 'Train on a part of it: make a dataset with fewer pictures.',
  },
  DATASET_TOO_SMALL: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The dataset[ {datasetId}] holds {count} pictures; an object detector needs at least {limit}.',
    remedy: 'Add pictures with bounding boxes to the dataset.',
  },
  DATASET_TYPE_MISMATCH: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The dataset[ {datasetId}] holds {type}; this call is for {wanted}.',
    remedy: 'Use a dataset of the other type: create one with the type you need.',
  },
  DATA_DIR_IN_USE: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The data folder {path} is in use by another process[ (pid {pid})].',
    remedy: 'Stop that process, or choose another folder with --data-dir.',
  },
  DATA_DIR_NEWER: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The data folder {path} was written by a newer version[ (schema {found}, this version knows {known})].',
    remedy: 'Use that newer version, or choose another folder with --data-dir.',
  },
  DISK_FULL: {
    rpc: 'resource_exhausted',
    retry: 'later',
    message: 'There is no space left on the disk[ of {path}].',
    remedy: 'Free some space on that disk. Nothing that was stored before is lost.',
  },
  DOWNLOAD_CORRUPT: {
    rpc: 'data_loss',
    retry: 'later',
    message: 'The download[ of {url}] does not have the expected sha256[ {wantSha256}][: it has {gotSha256}].',
    remedy:
      'Nothing was installed; the download is tried again. If it repeats, compare the file with the sha256 of its release.',
  },
  DOWNLOAD_FAILED: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'The download[ of {url}] failed[: {problem}].',
    remedy: 'Check that the address can be reached from the machine and leads to a program; it is tried again.',
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
  FORBIDDEN_CALLER: {
    rpc: 'permission_denied',
    retry: 'never',
    message: 'The machine server answers only callers on its own machine.',
    remedy: 'Call it on that machine by its loopback address.',
  },
  FRAMEWORK_NOT_SUPPORTED: {
    rpc: 'invalid_argument',
    retry: 'never',
    message: 'Built-in training does not make {framework} models[ of type {modelType}]; it makes {made}.',
    remedy: 'Choose one of these or leave model_framework unset, or submit a custom training script.',
  },
  HASH_MISMATCH: {
    rpc: 'data_loss',
    retry: 'now',
    message:
      'The bytes received[ for {path}] have another sha256 than announced[: {gotSha256} instead of {wantSha256}].',
    remedy: 'Send the file again; nothing was stored.',
  },
  INCLUDE_BINARY_TOO_LARGE: {
    rpc: 'resource_exhausted',
    retry: 'never',
    message:
      'The contents asked for are larger than the limit of {limitBytes} bytes of one answer[: {sizeBytes} bytes].',
    remedy: 'Ask for fewer at once, or without include_binary, and download each from its uri.',
  },
  INTERNAL: {
    rpc: 'internal',
    retry: 'later',
    message: 'The server failed at something it should not fail at[ (incident {incident})].',
    remedy: 'Try again. If it repeats, report it with the lines of the server log of that time.',
  },
  INVALID_ARGUMENT: {
    rpc: 'invalid_argument',
    retry: 'never',
    message: '{field} is not valid[: {value}][; {limit}].',
    remedy: 'Correct the field and repeat the call.',
  },
  INVALID_CONFIG: {
    rpc: 'invalid_argument',
    retry: 'never',
    message: 'The configuration has {count} error(s); nothing was saved[. First: {path}: {problem}].',
    remedy: 'Correct every path that is listed and save again.',
  },
  INVALID_CREDENTIALS: {
    rpc: 'unauthenticated',
    retry: 'never',
    message: 'The key ID or the key is wrong.',
    remedy: 'Check both parts of the API key (or of the machine credentials); a deleted key stays invalid.',
  },
  INVALID_MESSAGE: {
    rpc: 'invalid_argument',
    retry: 'never',
    message: 'The message cannot be read[: {problem}].',
    remedy: 'Send a message of the documented type and encoding.',
  },
  INVALID_PICTURE: {
    rpc: 'invalid_argument',
    retry: 'never',
    message: 'The picture[ {name}] cannot be decoded[: {problem}].',
    remedy: 'Send a JPEG, PNG or WebP file that an image viewer opens.',
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
  KEY_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no API key[ {keyId}].',
    remedy: 'Check the key ID; keys of other organizations are not visible.',
  },
  LABELS_AMBIGUOUS: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'Every labelled picture carries several of the requested labels[ ({count} pictures)].',
    remedy: 'Give each picture one of the labels, or train a multi-label model.',
  },
  LEASE_LOST: {
    rpc: 'aborted',
    retry: 'never',
    message: 'Attempt[ {attempt}] of the training job[ {jobId}] no longer belongs to this runner.',
    remedy: 'Nothing: the runner drops the attempt; another attempt goes on.',
  },
  LOCATION_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no location[ {locationId}].',
    remedy: 'Check location_id; locations of other organizations are not visible.',
  },
  MACHINE_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no machine[ {machineId}].',
    remedy: 'Check the machine ID; machines of other organizations are not visible.',
  },
  MESSAGE_TOO_LARGE: {
    rpc: 'resource_exhausted',
    retry: 'never',
    message: 'The message is larger than the limit of {limitBytes} bytes.',
    remedy: 'Send less at once, or upload the file as a stream.',
  },
  MODEL_UNUSABLE: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The model {name} cannot be run[: {problem}].',
    remedy: 'Train or publish a version with the documented inputs and outputs; the one used before keeps running.',
  },
  MODEL_VERSION_TAKEN: {
    rpc: 'already_exists',
    retry: 'never',
    message: 'Version {modelVersion} of model {modelName} was used before[, by job {jobId}].',
    remedy:
      'Choose a model_version never used for this model; versions of failed and deleted jobs count too. If a submit of yours got no answer, look at that job first.',
  },
  NAME_TAKEN: {
    rpc: 'already_exists',
    retry: 'never',
    message: 'The name "{name}" is taken[ by another {kind}].',
    remedy: 'Choose another name.',
  },
  NOT_AUTHENTICATED: {
    rpc: 'unauthenticated',
    retry: 'never',
    message: 'The call carries no valid token[: {problem}].',
    remedy: 'Authenticate with an API key, or sign in again.',
  },
  NOT_OWNER: {
    rpc: 'permission_denied',
    retry: 'never',
    message: 'This needs the owner role in the organization[ {organizationId}].',
    remedy: 'Use an API key with organization owner permission.',
  },
  OFFLINE: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'The server[ {url}] cannot be reached[: {problem}].',
    remedy: 'Check the address and the network; the call is tried again where that is safe.',
  },
  ORGANIZATION_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no organization[ {organizationId}].',
    remedy: 'Check organization_id; other organizations are not visible.',
  },
  OUT_OF_MEMORY: {
    rpc: 'resource_exhausted',
    retry: 'later',
    message: 'The training used {usedMib} MiB of memory; its limit is {limitMib} MiB.',
    remedy: 'Train with smaller pictures (argument side), or raise the memory limit of the job.',
  },
  PACKAGE_CORRUPT: {
    rpc: 'data_loss',
    retry: 'never',
    message: 'The package {packageId} in version {version} cannot be used[: {problem}].',
    remedy: 'Publish it again under a new version; the version used before stays in place.',
  },
  PACKAGE_IN_USE: {
    rpc: 'failed_precondition',
    retry: 'never',
    message:
      'Version {version} of package {packageId} is in the configuration of {count} machine(s)[, for example {machine}].',
    remedy: 'Take it out of these configurations, or put another version there, and delete it then.',
  },
  PACKAGE_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no package[ {packageId}][ in version {version}].',
    remedy: 'Check ID and version; packages of other organizations are not visible.',
  },
  PART_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no machine part[ {partId}].',
    remedy: 'Check the part ID; parts of other organizations are not visible.',
  },
  PERMISSION_DENIED: {
    rpc: 'permission_denied',
    retry: 'never',
    message: 'The caller may not do this[ to {resource}].',
    remedy: 'Use a key that covers this resource.',
  },
  PORT_IN_USE: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'Port {port} is in use by another program.',
    remedy: 'Stop that program, or choose another port with --port (0: any free one).',
  },
  RANGE_NOT_SATISFIABLE: {
    rpc: 'out_of_range',
    retry: 'never',
    message: 'The range[ {range}] lies outside of the file[ of {sizeBytes} bytes].',
    remedy: 'Ask for a range inside of the file, or for the whole of it.',
  },
  REGISTRY_ITEM_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no registry item[ {itemId}].',
    remedy: 'Check item_id (<namespace>:<name>); private items of other organizations are not visible.',
  },
  RELEASE_EXISTS: {
    rpc: 'already_exists',
    retry: 'never',
    message: '{name} {version} for {platform} was published with other bytes.',
    remedy: 'A release never changes: publish under a new version.',
  },
  RELEASE_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no release {name}[ {version}][ for {platform}].',
    remedy: 'Publish that version for this platform, or choose one that exists.',
  },
  RESOURCE_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'The machine runs no {kind}[ named {name}].',
    remedy: 'Add it to the configuration of the machine, or see GET /resources for what runs and what does not.',
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
    message: 'This computer cannot run training scripts in a sandbox: {problem}.',
    remedy: 'Install bubblewrap (Debian: apt-get install bubblewrap), allow it to make its sandbox, and start again.',
  },
  SCRIPTS_NOT_OFFERED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'No runner of the organization can run training scripts[: {problem}].',
    remedy: 'Start a runner that can, or mend what keeps the runner from it; the list of runners says what that is.',
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
  SIGN_IN_LINK_INVALID: {
    rpc: 'unauthenticated',
    retry: 'never',
    message: 'The sign-in link was used before or is too old.',
    remedy: 'Make a new one: `platform sign-in`.',
  },
  TOKEN_EXPIRED: {
    rpc: 'unauthenticated',
    retry: 'now',
    message: 'The token is no longer valid.',
    remedy: 'Authenticate again; clients of ours do that by themselves.',
  },
  TOO_FEW_BOXES: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'Label "{label}" has {count} bounding boxes; at least {limit} are needed[. Boxes per label: {counts}].',
    remedy: 'Draw more boxes with this label, or leave the label out.',
  },
  TOO_FEW_LABELS: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'This model type needs at least {limit} label(s) that occur[; there are {count}][: {counts}].',
    remedy: 'Name more labels in tags and label pictures with them.',
  },
  TOO_FEW_PICTURES: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'Label "{label}" has {count} pictures; at least {limit} are needed[. Pictures per label: {counts}].',
    remedy: 'Add pictures with this label, or leave the label out.',
  },
  TOO_MANY_REQUESTS: {
    rpc: 'resource_exhausted',
    retry: 'later',
    message: 'There are too many calls at once[: {limit}].',
    remedy: 'Wait a moment and try again.',
  },
  TOO_MANY_UNLABELED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: '{count} pictures carry none of the requested labels; with {total} labels in all at most {limit} may.',
    remedy: 'Label them, name their labels in tags, or take them out of the dataset.',
  },
  TRAINER_FAILED: {
    rpc: 'internal',
    retry: 'later',
    message: 'The trainer failed[: {problem}].',
    remedy: 'See the log of the job for the cause.',
  },
  TRAINING_JOB_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no training job[ {jobId}].',
    remedy: 'Check the id; jobs of other organizations are not visible.',
  },
  TRAINING_TIMED_OUT: {
    rpc: 'deadline_exceeded',
    retry: 'never',
    message: 'The training took longer than its limit[ of {limitSeconds} s].',
    remedy: 'Train on fewer pictures or for fewer epochs, or raise the time limit of the job.',
  },
  UNSUPPORTED: {
    rpc: 'unimplemented',
    retry: 'never',
    message: 'This server does not offer {what}.',
    remedy: 'Use a newer server, or do without.',
  },
} as const satisfies Record<string, ErrorRow>;
