import type { ErrorRow } from '../error-row.ts';

/** Releases: publication, signatures, downloads, versions on a machine. */
export const releasesErrors = {
  RELEASE_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no release {name}[ {version}][ for {platform}].',
    remedy: 'Publish this version for this platform, or choose an existing one.',
  },
  RELEASE_ATTACHMENT_MISSING: {
    rpc: 'not_found',
    retry: 'never',
    message: '{name} {version} for {platform} was published without the file {file}.',
    remedy:
      'Ask its publisher for the file. The build writes it beside the program, and platform release publish uploads both.',
  },
  RELEASE_ATTACHMENT_REFUSED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The file of kind {kind} does not belong to {name} {version} for {platform}: {problem}.',
    remedy:
      'Nothing was published or written. Build the program again, which writes the file beside it, or remove the file.',
  },
  RELEASE_EXISTS: {
    rpc: 'already_exists',
    retry: 'never',
    message: '{name} {version} for {platform} is already published with different content.',
    remedy: 'Publish under a new version: a published release never changes.',
  },
  RELEASE_IN_USE: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'Channel {channel} points to {name} {version}.',
    remedy: 'Promote another version to that channel first.',
  },
  RELEASE_UNSIGNED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: '{name} {version} for {platform} has no signature of a release key.',
    remedy: 'Publish it with platform release publish, which signs it.',
  },
  RELEASE_UNTRUSTED: {
    rpc: 'failed_precondition',
    retry: 'later',
    message: 'The file {target} is not trusted: {problem}.',
    remedy:
      'Nothing was installed; the agent retries. If the release is genuine, publish it again with platform release publish. Otherwise find out where the file came from.',
  },
  METADATA_EXPIRED: {
    rpc: 'failed_precondition',
    retry: 'later',
    message: 'The signed {role} metadata of the releases has expired.',
    remedy:
      'Check the clock of the machine. If it is correct, the management server serves old metadata: read its log, then sign the metadata again with platform release sign.',
  },
  METADATA_REFUSED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The signed metadata was rejected: {problem}.',
    remedy:
      'Nothing was changed. Fetch the newest metadata and sign it again; docs/releases.md lists which keys sign what.',
  },
  METADATA_UNREACHABLE: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'The signed metadata of the releases could not be fetched[ from {url}][: {problem}].',
    remedy: 'The agent retries. Check that the machine can reach the management server.',
  },
  TRUSTED_ROOT_MISSING: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'This machine has no trusted root metadata[ and cannot trust {url} for the first one].',
    remedy: 'Connect to the management server over https, or pass the file with --trusted-root FILE.',
  },
  ONLINE_KEY_UNKNOWN: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The root metadata of the releases does not list the key {keyId} of this management server.',
    remedy: 'Add the key with platform release rotate-root, or restore release-key.pem in the data folder.',
  },
  SIGNING_KEYS_MISSING: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'There are too few keys to sign {role}[: {found} of {threshold}][ in {folder}].',
    remedy: 'Pass the folders that contain the keys with --keys. To create keys: platform release keys init.',
  },
  SIGNING_KEY_UNREADABLE: {
    rpc: 'invalid_argument',
    retry: 'never',
    message: 'The key {name} cannot be used: {problem}.',
    remedy: 'Check the file and the passphrase, which is read from PLATFORM_RELEASE_PASSPHRASE.',
  },
  DOWNLOAD_CORRUPT: {
    rpc: 'data_loss',
    retry: 'later',
    message: 'The download[ of {url}] does not have the expected sha256[ {wantSha256}][: it has {gotSha256}].',
    remedy:
      'Nothing was installed. The download is retried; if it fails again, compare the file with the sha256 of its release.',
  },
  DOWNLOAD_FAILED: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'The download[ of {url}] failed[: {problem}].',
    remedy:
      'Check that this host can reach the URL and that the URL leads to the file. The agent retries by itself. If a command failed, run it again: it resumes the download.',
  },
  UPDATE_FAILED: {
    rpc: 'internal',
    retry: 'later',
    message: 'The update failed: {problem}.',
    remedy:
      'No action is needed yet: the running version stays, and the agent retries. If the update fails again, check the disk of the machine and the log of the agent.',
  },
  PROGRAM_REFUSED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: '{program} {version} cannot run on this machine: {problem}.',
    remedy: 'Choose another version or URL in version_control of this machine.',
  },
  VERSION_NOT_INSTALLED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: '{program} {desired} is not installed on this machine.',
    remedy: 'Choose an installed version or a URL, or set the version in the configuration of the machine.',
  },
  NO_PREVIOUS_VERSION: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'This machine has no previous version of {program} to roll back to.',
    remedy: 'Set a version in version_control of the machine. The agent downloads it.',
  },
} as const satisfies Record<string, ErrorRow>;
