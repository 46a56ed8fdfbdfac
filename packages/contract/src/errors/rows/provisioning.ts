import type { ErrorRow } from '../error-row.ts';

/** Calls that an app sends to a device over its hotspot. */
export const provisioningErrors = {
  // Public clients expect UNKNOWN for the first two.
  PROVISIONING_NETWORK_TYPE: {
    rpc: 'unknown',
    retry: 'never',
    message: 'The device does not support networks of type "{type}".',
    remedy: 'Send the type "wifi".',
  },
  PROVISIONING_CREDENTIALS_MISSING: {
    rpc: 'unknown',
    retry: 'never',
    message: 'The request contains no machine credentials.',
    remedy: 'Fill the field cloud with id, app_address, and secret or api_key.',
  },
  PROVISIONING_NOT_TAKEN: {
    rpc: 'deadline_exceeded',
    retry: 'later',
    message: 'The agent did not accept the entered data within {seconds} s.',
    remedy: 'Send the network and the credentials again, then repeat ExitProvisioning.',
  },
} as const satisfies Record<string, ErrorRow>;
