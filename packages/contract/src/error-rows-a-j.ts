import type { ErrorRow } from './error-row.ts';

/** Rows of the error table from A to J, alphabetical. */
export const errorsAToJ = {
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
    remedy: 'Send a smaller file, or split it: this limit is fixed.',
  },
  BOUNDING_BOX_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no bounding box[ {boundingBoxId}] in this picture.',
    remedy: 'Check bbox_id; ask for the picture again to see its boxes.',
  },
  BUDGET_EXCEEDED: {
    rpc: 'resource_exhausted',
    retry: 'later',
    message: 'This caller used more than {limit}.',
    remedy:
      'Wait {retryAfterS} s and repeat it. The server took nothing of this call. Its operator can raise the limit (--machine-lines-per-s, --machine-calls-per-s, --key-calls-per-s, --caller-mib-per-s).',
  },
  CALL_TIMED_OUT: {
    rpc: 'deadline_exceeded',
    retry: 'later',
    message: 'The call took longer than the time that the caller gave it[: {problem}].',
    remedy:
      'Try again with a longer timeout, or ask for less at once. The server may have done what was asked: look first.',
  },
  CAMERA_FAILED: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'Camera {name} gave no picture[: {problem}].',
    remedy: 'Check the attributes of the camera in the configuration, and the folder or address they name.',
  },
  CLOUD_ANSWER_CUT: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'The answer of the management server at {address} ended too early.',
    remedy: 'Nothing: it is asked again. If it stays so, look at what lies between: a proxy, a weak link.',
  },
  CLOUD_ANSWER_TOO_LARGE: {
    rpc: 'resource_exhausted',
    retry: 'later',
    message: 'The answer of {address} is larger than {limitBytes} bytes and was cut off.',
    remedy: 'Check cloud.app_address in the credentials file: a management server does not answer so.',
  },
  CLOUD_BUSY: {
    rpc: 'resource_exhausted',
    retry: 'later',
    message: 'The management server at {address} asks to come again later (HTTP {status}).',
    remedy: 'Nothing: it is asked again when it wants.',
  },
  CLOUD_CERTIFICATE_REFUSED: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'The certificate of {address} is not accepted: {problem}.',
    remedy:
      'If the management server has a certificate of an authority of your own, add that authority to the certificates of this system; else find out who answers there.',
  },
  CLOUD_CERTIFICATE_TIME: {
    rpc: 'unavailable',
    retry: 'later',
    message:
      'The clock of this machine says {now}, but the certificate of {address} is not valid at that time[: it holds from {from} until {until}].',
    remedy: 'Set the clock of this machine (a time server does it by itself), or renew the certificate if it ran out.',
  },
  CLOUD_FAILS: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'The management server at {address} cannot answer now (HTTP {status}).',
    remedy: 'Nothing on this machine: it is asked again. See the log of the management server.',
  },
  CLOUD_NAME_UNKNOWN: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'The name {host} of the management server leads to no address.',
    remedy: 'Check the network and the name server of this machine, and cloud.app_address in its credentials file.',
  },
  CLOUD_NOT_RECOGNIZED: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'What answers at {address} is not a management server: {problem}.',
    remedy:
      'Check cloud.app_address in the credentials file. A network that wants a sign-in, or a proxy, may answer in its place.',
  },
  CLOUD_REDIRECTS: {
    rpc: 'unavailable',
    retry: 'later',
    message: '{address} sends to {location}, where this machine does not go: its secret is for the one address only.',
    remedy: 'If the management server has moved, put its new address into cloud.app_address of the credentials file.',
  },
  CLOUD_REFUSES_MACHINE: {
    rpc: 'unauthenticated',
    retry: 'later',
    message: 'The management server at {address} refuses this machine.',
    remedy:
      'Copy the credentials of this machine from the management app again: they were replaced, or the machine was removed.',
  },
  CLOUD_SILENT: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'The management server at {address} did not answer in time: {problem}.',
    remedy: 'Nothing: it is asked again. If it stays so, check the network and any proxy or firewall between.',
  },
  CLOUD_UNREACHABLE: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'The management server at {address} cannot be reached: {problem}.',
    remedy: 'Check the network of this machine, and cloud.app_address in its credentials file.',
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
  CREDENTIALS_UNUSABLE: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The credentials from {source} cannot be used: {problem}.',
    remedy:
      'Check the address of the management server, or copy the credentials of this machine from the management app.',
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
    message: 'The dataset[ {datasetId}] holds no image that can be trained on[: {problem}].',
    remedy:
      'Compare what was asked for with what the dataset has (platform dataset show): ask for labels that it has, or add images with the labels, for a detector with boxes.',
  },
  DATASET_EXPORT_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no export of a dataset[ with id {jobId}].',
    remedy: 'Exports and their files are kept for a day; start the export again.',
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
    message: 'There is no space left on the disk[ of {path}][: {what} needs {needed}, {free} are free].',
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
    remedy:
      'Check that the URL can be reached from here and leads to that file. An agent tries again by itself; a command is to be repeated and goes on where it was.',
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
  FILTER_EMPTY: {
    rpc: 'invalid_argument',
    retry: 'never',
    message: 'The filter has no condition, so this call would delete all data of the organization.',
    remedy: 'Add a condition. To delete everything, set interval.start to 1970-01-01T00:00:00Z.',
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
    http: 422,
    retry: 'now',
    message:
      'The bytes received[ for {path}] have another sha256 than announced[: {gotSha256} instead of {wantSha256}].',
    remedy: 'Send the file again; nothing was stored.',
  },
  IMAGES_UNREADABLE: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'None of the {count} images can be decoded: {problem}[; for example {examples}].',
    remedy:
      'Upload JPEG, PNG or WebP files that an image viewer opens. Convert other formats (HEIC, TIFF, BMP, GIF, RAW) first: a new extension does not do that.',
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
} as const satisfies Record<string, ErrorRow>;
