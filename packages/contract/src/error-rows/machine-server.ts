import type { ErrorRow } from '../error-row.ts';

/** The machine server and its resources. */
export const machineServerErrors = {
  RESOURCE_INVALID: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The entry at {path} cannot be used: {problem}.',
    remedy: 'Correct it in the configuration of the machine; everything else runs.',
  },
  RESOURCE_UNKNOWN: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The machine server {version} cannot run the entry at {path}: {problem}.',
    remedy: 'Write a type and a model that it knows (docs/machine-server.md), or install a server that knows this one.',
  },
  RESOURCE_FAILED: {
    rpc: 'failed_precondition',
    retry: 'later',
    message: '{name} does not work[: {problem}].',
    remedy: 'Correct its entry in the configuration of the machine. The server tries again.',
  },
  RESOURCE_WAITS: {
    rpc: 'unavailable',
    retry: 'later',
    message: '{name} waits for {what}.',
    remedy: 'No action is needed while it is being fetched; see the entry that it waits for.',
  },
  RESOURCE_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'The machine runs no {kind}[ named {name}].',
    remedy: 'Add it to the configuration of the machine, or see GET /resources for what runs and what does not.',
  },
  CAMERA_FAILED: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'Camera {name} gave no picture[: {problem}].',
    remedy: 'Check the attributes of the camera in the configuration, and the folder or address they name.',
  },
  MODEL_UNUSABLE: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The model {name} cannot be run[: {problem}].',
    remedy: 'Train or publish a version with the documented inputs and outputs; the one used before keeps running.',
  },
  FORBIDDEN_CALLER: {
    rpc: 'permission_denied',
    retry: 'never',
    message: 'The machine server answers only callers on its own machine.',
    remedy: 'Call it on that machine by its loopback address.',
  },
  SERVER_FLOODS: {
    rpc: 'resource_exhausted',
    retry: 'later',
    message:
      'The machine server writes more than is kept[: {linesPerSecond} lines or {kilobytesPerSecond} kB a second]. Lines were dropped; the log says how many.',
    remedy:
      'Make the machine server write less, for example with a higher log level. The condition goes five minutes after the last dropped line.',
  },
} as const satisfies Record<string, ErrorRow>;
