import type { ErrorRow } from '../error-row.ts';

/** Access: keys, sign-in, permissions, organizations. */
export const accessErrors = {
  INVALID_CREDENTIALS: {
    rpc: 'unauthenticated',
    retry: 'never',
    message: 'The key ID or the key is wrong.',
    remedy:
      'Check the key ID and the key of the API key or of the machine credentials. If the key was deleted, create another one.',
  },
  NOT_AUTHENTICATED: {
    rpc: 'unauthenticated',
    retry: 'never',
    message: 'The call carries no valid token[: {problem}].',
    remedy: 'Authenticate with an API key, or sign in again.',
  },
  TOKEN_EXPIRED: {
    rpc: 'unauthenticated',
    retry: 'now',
    message: 'The access token has expired or was revoked[: {problem}].',
    remedy:
      'Authenticate again; the clients of this platform do so automatically, once. If the key was deleted or rotated, use another key.',
  },
  SIGN_IN_LINK_INVALID: {
    rpc: 'unauthenticated',
    retry: 'never',
    message: 'The sign-in link was already used or has expired.',
    remedy: 'Create a new link: `platform sign-in`.',
  },
  SIGN_IN_NOT_RECENT: {
    rpc: 'failed_precondition',
    retry: 'never',
    message:
      'Secrets are shown only in a browser, and only within {limitMinutes} minutes of signing in[; the last sign-in was {minutes} minutes ago].',
    remedy: 'Create a sign-in link with `platform sign-in`, open it in this browser, and try again.',
  },
  SET_UP_CODE_INVALID: {
    rpc: 'not_found',
    retry: 'never',
    message: 'This set-up code is wrong, has expired, or was used by another device.',
    remedy: 'Create a new code for the machine in the web app: Machines, "Add a machine", "By phone".',
  },
  SET_UP_CODES_LIMITED: {
    rpc: 'resource_exhausted',
    retry: 'later',
    message: 'Too many wrong set-up codes that begin like this one were entered, and too many from this network.',
    remedy:
      'Wait {retryAfterS} s, then try again; an agent keeps the code and retries automatically. The credentials file of the machine works at once.',
  },
  INSTALL_KEY_INVALID: {
    rpc: 'unauthenticated',
    retry: 'never',
    message: 'The one-time key of this line was used, has expired, was replaced by a newer one, or never existed.',
    remedy:
      'Make a new line in the web app: the machine, CONNECT, "Add this machine". A line works for 24 hours, on one computer.',
  },
  INSTALL_KEYS_LIMITED: {
    rpc: 'resource_exhausted',
    retry: 'later',
    message: 'Too many wrong one-time keys that begin like this one were entered, and too many from this network.',
    remedy: 'Wait {retryAfterS} s, then paste the line again. The credentials file of the machine works at once.',
  },
  SET_UP_AUTHORITY_DIFFERS: {
    rpc: 'unauthenticated',
    retry: 'later',
    message: 'The certificate authority of {address} is not the one that the set-up code names.',
    remedy:
      'Enter the letters after the # again. If they are right, create a new set-up code: the server may have another authority now, or a device in the network may impersonate the server.',
  },
  PERMISSION_DENIED: {
    rpc: 'permission_denied',
    retry: 'never',
    message: 'This caller may not make this call[ on {resource}].',
    remedy: 'Use a key with access to this resource.',
  },
  NOT_OWNER: {
    rpc: 'permission_denied',
    retry: 'never',
    message: 'This call requires the owner role in the organization[ {organizationId}].',
    remedy: 'Use an API key with the owner role.',
  },
  RESOURCE_NOT_NAMED: {
    rpc: 'permission_denied',
    retry: 'never',
    message: '{by} does not name {resource}, so this caller has no access to it.',
    remedy: 'Add it to the configuration of the machine or to an argument of the job, or use the API key of a member.',
  },
  KEY_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no API key[ {keyId}].',
    remedy: 'Check the key ID; keys of other organizations are not visible.',
  },
  LAST_OWNER: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'This is the last owner key of {resource}. Without it, no key can manage {resource}.',
    remedy: 'Create another owner key, then delete this one.',
  },
  ORGANIZATION_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no organization[ {organizationId}].',
    remedy: 'Check organization_id; other organizations are not visible.',
  },
  ORGANIZATION_FULL: {
    rpc: 'resource_exhausted',
    http: 413,
    retry: 'never',
    message:
      'Organization {organizationId} cannot store {sizeBytes} more bytes: {usedBytes} of {limitBytes} bytes are used[, uploads in progress need {arrivingBytes}][, {waitingBytes} of deleted files are still on the disk].',
    remedy:
      'Delete unused images, model versions or scripts; `platform usage` lists what uses the space. Deleting frees space at once, as long as used and deleted files together stay below twice the limit. The operator of the server can raise the limit (--org-limit-gib).',
  },
} as const satisfies Record<string, ErrorRow>;
