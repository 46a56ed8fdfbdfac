import type { ErrorRow } from '../error-row.ts';

/** The machine server and its resources. */
export const machineServerErrors = {
  RESOURCE_INVALID: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The entry at {path} is invalid: {problem}.',
    remedy: 'Correct it in the configuration of the machine. All other resources run.',
  },
  RESOURCE_UNKNOWN: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The machine server {version} cannot run the entry at {path}: {problem}.',
    remedy:
      'Use a type and a model that this version supports (docs/machine-server.md), or install a newer machine server.',
  },
  SERVER_SCHEMAS_REFUSED: {
    rpc: 'invalid_argument',
    retry: 'never',
    message: 'The schemas that the machine server reports cannot be used: {problem}.',
    remedy:
      'Its components and services can still be configured as JSON; the rest of its report is used. For its developer: docs/machine-server.md lists the limits.',
  },
  RESOURCE_FAILED: {
    rpc: 'failed_precondition',
    retry: 'later',
    message: '{name} does not work[: {problem}].',
    remedy: 'Correct its entry in the configuration of the machine. The machine server retries.',
  },
  RESOURCE_WAITS: {
    rpc: 'unavailable',
    retry: 'later',
    message: '{name} waits for {what}.',
    remedy: 'No action is needed during a download. Otherwise check the resource that it waits for.',
  },
  RESOURCE_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'The machine runs no {kind}[ named {name}].',
    remedy: 'Add it to the configuration of the machine. GET /resources lists each resource and its state.',
  },
  CAMERA_FAILED: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'The camera "{name}" gives no image[: {problem}].',
    remedy:
      'Correct the folder or URL in the attributes of the camera, or make that folder or URL available to the machine.',
  },
  MODEL_UNUSABLE: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The model {name} cannot run[: {problem}].',
    remedy: 'Train or publish a version with the documented inputs and outputs. The previous version stays in use.',
  },
  MODEL_WITHOUT_UNLIKE: {
    rpc: 'failed_precondition',
    retry: 'never',
    message:
      'The model {name} cannot reject images that are unlike its training images, which its attribute reject_unlike requires: {problem}.',
    remedy:
      'Train a version with one label per image on a current server, or remove reject_unlike from the attributes of the model. The previous version stays in use.',
  },
  FORBIDDEN_CALLER: {
    rpc: 'permission_denied',
    retry: 'never',
    message: 'The machine server accepts calls from its own machine only.',
    remedy: 'Call it on that machine at its loopback address.',
  },
} as const satisfies Record<string, ErrorRow>;
