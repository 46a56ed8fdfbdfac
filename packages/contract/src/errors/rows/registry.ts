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
    message: 'Version {modelVersion} of model {modelName} is already taken[ by job {jobId}].',
    remedy:
      'Choose another model_version; versions of failed and deleted jobs cannot be reused. If an earlier submit got no answer, check that job first.',
  },
  MODEL_ARCHIVE_INVALID: {
    rpc: 'invalid_argument',
    retry: 'never',
    message: 'The archive of the model is invalid: {problem}[ (entry "{entry}")].',
    remedy:
      'Pack regular files and folders as .tar.gz with relative paths and unique names: at most 4 GiB and 10,000 entries unpacked.',
  },
  MODEL_CANNOT_SUGGEST: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'Version {version} of model {modelName} cannot make suggestions: {problem}.',
    remedy: 'Choose a version that a built-in trainer made. The page of the model shows the trainer of each version.',
  },
  PACKAGE_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no package[ {packageId}][ in version {version}].',
    remedy: 'Check the ID and the version; packages of other organizations are not visible.',
  },
  PACKAGE_CORRUPT: {
    rpc: 'data_loss',
    retry: 'never',
    message: 'Version {version} of package {packageId} cannot be used[: {problem}].',
    remedy: 'Publish it again under a new version. The previous version stays in use.',
  },
  PACKAGE_IN_USE: {
    rpc: 'failed_precondition',
    retry: 'never',
    message:
      'Version {version} of package {packageId} is used in the configuration of {count} machine(s)[, for example {machine}].',
    remedy: 'Remove the package from these configurations or choose another version there, then delete this one.',
  },
} as const satisfies Record<string, ErrorRow>;
