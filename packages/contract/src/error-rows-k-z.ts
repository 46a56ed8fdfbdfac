import type { ErrorRow } from './error-row.ts';

/** Rows of the error table from K to Z, alphabetical. */
export const errorsKToZ = {
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
  LAST_OWNER: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'Nobody else owns {resource}: without this key, nobody could manage it.',
    remedy: 'Create another owner key first, then delete this one.',
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
  MESSAGE_TOO_COMPLEX: {
    rpc: 'resource_exhausted',
    retry: 'never',
    message: 'The message holds more than {limit} values.',
    remedy: 'Split it into several calls.',
  },
  MESSAGE_TOO_LARGE: {
    rpc: 'resource_exhausted',
    retry: 'never',
    message: 'The message is larger than the limit of {limitBytes} bytes.',
    remedy: 'Send less at once, or upload the file as a stream.',
  },
  METADATA_EXPIRED: {
    rpc: 'failed_precondition',
    retry: 'later',
    message: 'The signed {role} document of the releases has expired.',
    remedy:
      'If the clock of the machine is right, the management server serves old documents: look at its log, and sign anew with platform release sign.',
  },
  METADATA_REFUSED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The signed documents were refused: {problem}.',
    remedy:
      'Nothing was changed. Fetch the newest documents and sign again; docs/releases.md tells which keys sign what.',
  },
  METADATA_UNREACHABLE: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'The signed list of releases could not be fetched[ from {url}][: {problem}].',
    remedy: 'It is tried again. Check that the management server can be reached from the machine.',
  },
  MIGRATION_FAILED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message:
      'The agent of this platform could not take over from the other one: {problem}. The other agent runs again.',
    remedy: 'Remove the cause and ask again: platform machine migrate NAME.',
  },
  MIGRATION_REFUSED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'Machine {name} cannot be moved to platform-agent: {problem}.',
    remedy:
      'Only a machine that checks in with the agent of another product can be moved, to a published platform-agent for its platform. Publish that, or install it there as docs/install.md says.',
  },
  MODEL_ARCHIVE_INVALID: {
    rpc: 'invalid_argument',
    retry: 'never',
    message: 'The archive of the model cannot be used: {problem}[ (entry "{entry}")].',
    remedy:
      'Pack a .tar.gz of regular files and folders with relative paths: at most 4 GiB and 10,000 entries unpacked, each name once.',
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
  NO_PREVIOUS_VERSION: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'There is no earlier version of {program} on this machine that it could go back to.',
    remedy: 'Choose a version in the configuration of the machine (version_control); it is downloaded.',
  },
  OFFLINE: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'The server[ {url}] cannot be reached[: {problem}].',
    remedy: 'Check the address and the network; the call is tried again where that is safe.',
  },
  ONLINE_KEY_UNKNOWN: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The root document of the releases does not name the key {keyId} of this management server.',
    remedy: 'Let it in with platform release rotate-root, or put back the file release-key.pem into the data folder.',
  },
  ORGANIZATION_FULL: {
    rpc: 'resource_exhausted',
    http: 413,
    retry: 'never',
    message:
      'Organization {organizationId} has no room for {sizeBytes} more bytes: {usedBytes} of {limitBytes} bytes are used[, {arrivingBytes} arrive now][, {waitingBytes} of deleted files are still on the disk].',
    remedy:
      'Delete images, model versions or scripts that nobody needs; that makes room at once, as long as used and deleted files together are below twice the limit. `platform usage` shows the counts. The operator of the server can raise the limit (--org-limit-gib).',
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
    message: 'The training used {usedMib} MiB of memory; its limit is {limitMib} MiB[: {problem}].',
    remedy:
      'Raise the memory limit of the job, or let it use less: a built-in trainer with smaller images (argument side), a training script with smaller batches.',
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
  PROGRAM_REFUSED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: '{program} {version} cannot be used on this machine: {problem}.',
    remedy: 'Choose another version or address for this machine in version_control.',
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
  RELEASE_IN_USE: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: '{name} {version} is what channel {channel} points to.',
    remedy: 'Promote another version to that channel first.',
  },
  RELEASE_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no release {name}[ {version}][ for {platform}].',
    remedy: 'Publish that version for this platform, or choose one that exists.',
  },
  RELEASE_UNSIGNED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: '{name} {version} for {platform} is signed by no release key.',
    remedy: 'Publish it with platform release publish, which signs it.',
  },
  RELEASE_UNTRUSTED: {
    rpc: 'failed_precondition',
    retry: 'later',
    message: 'The file {target} is not trusted: {problem}.',
    remedy:
      'Nothing was installed; it is tried again. If the release is right, publish it anew with platform release publish; else find out who sent it.',
  },
  RESOURCE_FAILED: {
    rpc: 'failed_precondition',
    retry: 'later',
    message: '{name} does not work[: {problem}].',
    remedy: 'Correct its entry in the configuration of the machine. The server tries again.',
  },
  RESOURCE_INVALID: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The entry at {path} cannot be used: {problem}.',
    remedy: 'Correct it in the configuration of the machine; everything else runs.',
  },
  RESOURCE_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'The machine runs no {kind}[ named {name}].',
    remedy: 'Add it to the configuration of the machine, or see GET /resources for what runs and what does not.',
  },
  RESOURCE_NOT_NAMED: {
    rpc: 'permission_denied',
    retry: 'never',
    message: '{by} does not name {resource}.',
    remedy: 'Name it in the configuration of the machine or in an argument of the job, or use the key of a member.',
  },
  RESOURCE_UNKNOWN: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The machine server {version} cannot run the entry at {path}: {problem}.',
    remedy: 'Write a type and a model that it knows (docs/machine-server.md), or install a server that knows this one.',
  },
  RESOURCE_WAITS: {
    rpc: 'unavailable',
    retry: 'later',
    message: '{name} waits for {what}.',
    remedy: 'No action is needed while it is being fetched; see the entry that it waits for.',
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
  SEQUENCE_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no sequence with id {sequenceId}.',
    remedy: 'Check the id: ListSequences lists the sequences of an organization.',
  },
  SERVER_FLOODS: {
    rpc: 'resource_exhausted',
    retry: 'later',
    message:
      'The machine server writes more than is kept[: {linesPerSecond} lines or {kilobytesPerSecond} kB a second]. Lines were dropped; the log says how many.',
    remedy:
      'Make the machine server write less, for example with a higher log level. The condition goes five minutes after the last dropped line.',
  },
  SIGNING_KEYS_MISSING: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'There are not enough keys to sign {role}[: {found} of {threshold}][ in {folder}].',
    remedy: 'Name the folders that hold them with --keys. New ones: platform release keys init.',
  },
  SIGNING_KEY_UNREADABLE: {
    rpc: 'invalid_argument',
    retry: 'never',
    message: 'The key {name} cannot be used: {problem}.',
    remedy: 'Give the right file; the passphrase is taken from PLATFORM_RELEASE_PASSPHRASE.',
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
    message: 'The token is no longer valid[: {problem}].',
    remedy:
      'Authenticate again: clients of ours do that once by themselves. A key that was deleted or rotated stays invalid; use another one then.',
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
    message:
      'This model type needs at least {limit} label(s) that occur[; there are {count}][: {counts}][. The dataset has: {found}].',
    remedy: 'Name labels that the dataset has, spelt as there, or label images with the missing ones.',
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
    message:
      '{count} pictures carry none of the requested labels[, for example {examples}]; with {total} labels in all at most {limit} may[. The dataset also has: {found}].',
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
    remedy:
      'Raise the time limit of the job, or let it do less: a built-in trainer with fewer epochs (argument epochs) or the recipe probe, a training script by its own arguments.',
  },
  TRUSTED_ROOT_MISSING: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'This machine has no trusted root document[, and cannot take the first one from {url}].',
    remedy: 'Reach the management server over https, or give the document with --trusted-root FILE.',
  },
  UNSIGNED_PIN_REFUSED: {
    rpc: 'permission_denied',
    retry: 'never',
    message: 'Only an owner may choose a program that no release key signed: {pins}.',
    remedy: 'Ask an owner to save it, which is recorded as consent, or choose stable, dev or a published version.',
  },
  UNSUPPORTED: {
    rpc: 'unimplemented',
    retry: 'never',
    message: 'This server does not offer {what}.',
    remedy: 'Use a newer server, or do without.',
  },
  VERSION_NOT_INSTALLED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: '{program} {wish} is not installed on this machine.',
    remedy: 'Name an installed version or an address, or choose the version in the configuration of the machine.',
  },
} as const satisfies Record<string, ErrorRow>;
