import type { ErrorRow } from '../error-row.ts';

/** Releases: publication, signatures, downloads, versions on a machine. */
export const releasesErrors = {
  RELEASE_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no release {name}[ {version}][ for {platform}].',
    remedy: 'Publish that version for this platform, or choose one that exists.',
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
  TRUSTED_ROOT_MISSING: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'This machine has no trusted root document[, and cannot take the first one from {url}].',
    remedy: 'Reach the management server over https, or give the document with --trusted-root FILE.',
  },
  ONLINE_KEY_UNKNOWN: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The root document of the releases does not name the key {keyId} of this management server.',
    remedy: 'Let it in with platform release rotate-root, or put back the file release-key.pem into the data folder.',
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
  PROGRAM_REFUSED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: '{program} {version} cannot be used on this machine: {problem}.',
    remedy: 'Choose another version or address for this machine in version_control.',
  },
  VERSION_NOT_INSTALLED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: '{program} {wish} is not installed on this machine.',
    remedy: 'Name an installed version or an address, or choose the version in the configuration of the machine.',
  },
  NO_PREVIOUS_VERSION: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'There is no earlier version of {program} on this machine that it could go back to.',
    remedy: 'Choose a version in the configuration of the machine (version_control); it is downloaded.',
  },
} as const satisfies Record<string, ErrorRow>;
