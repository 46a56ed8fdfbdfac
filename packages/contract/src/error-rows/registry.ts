import type { ErrorRow } from '../error-row.ts';

/** Models and packages. */
export const registryErrors = {
  REGISTRY_ITEM_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no registry item[ {itemId}].',
    remedy: 'Check item_id (<namespace>:<name>); private items of other organizations are not visible.',
  },
  MODEL_VERSION_TAKEN: {
    rpc: 'already_exists',
    retry: 'never',
    message: 'Version {modelVersion} of model {modelName} was used before[, by job {jobId}].',
    remedy:
      'Choose a model_version never used for this model; versions of failed and deleted jobs count too. If a submit of yours got no answer, look at that job first.',
  },
  MODEL_ARCHIVE_INVALID: {
    rpc: 'invalid_argument',
    retry: 'never',
    message: 'The archive of the model cannot be used: {problem}[ (entry "{entry}")].',
    remedy:
      'Pack a .tar.gz of regular files and folders with relative paths: at most 4 GiB and 10,000 entries unpacked, each name once.',
  },
  PACKAGE_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no package[ {packageId}][ in version {version}].',
    remedy: 'Check ID and version; packages of other organizations are not visible.',
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
} as const satisfies Record<string, ErrorRow>;
