import type { ErrorRow } from '../error-row.ts';

/** Access: keys, sign-in, permissions, organizations. */
export const accessErrors = {
  INVALID_CREDENTIALS: {
    rpc: 'unauthenticated',
    retry: 'never',
    message: 'The key ID or the key is wrong.',
    remedy:
      'Check the key ID and the key of the API key or of the machine credentials. A deleted key stays invalid: create another.',
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
      'Authenticate again; the clients of this platform do so once by themselves. If the key was deleted or rotated, use another key.',
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
      'Secrets are shown in a browser only, and only within {limitMinutes} minutes of signing in[; the last sign-in was {minutes} minutes ago].',
    remedy: 'Create a sign-in link with `platform sign-in`, open it in this browser, and try again.',
  },
  SET_UP_CODE_INVALID: {
    rpc: 'not_found',
    retry: 'never',
    message: 'This set-up code is wrong, has expired, or was used by another device.',
    remedy: 'Create a new code for the machine in the web app: Machines, "Set up a device".',
  },
  SET_UP_CODES_LIMITED: {
    rpc: 'resource_exhausted',
    retry: 'later',
    message: 'Too many wrong set-up codes that begin like this one were tried, and too many from this network.',
    remedy:
      'Wait {retryAfterS} s, then repeat it; an agent keeps the code and does so by itself. The credentials file of the machine works at once.',
  },
  SET_UP_CODE_WAITS: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'The set-up code is not redeemed at {server} yet: {problem}.',
    remedy: 'The agent repeats it by itself. If that does not help, correct the network or the address of the server.',
  },
  SET_UP_AUTHORITY_DIFFERS: {
    rpc: 'unauthenticated',
    retry: 'later',
    message: 'The certificate authority of {address} is not the one that the set-up code names.',
    remedy:
      'Enter the letters after the # again. If they are right, create a new set-up code: the server may have another authority now, or something between device and server imitates it.',
  },
  PERMISSION_DENIED: {
    rpc: 'permission_denied',
    retry: 'never',
    message: 'The caller has no permission for this call[ on {resource}].',
    remedy: 'Use a key that covers this resource.',
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
    remedy: 'Name it in the configuration of the machine or in an argument of the job, or use the key of a member.',
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
      'Organization {organizationId} has no room for {sizeBytes} more bytes: {usedBytes} of {limitBytes} bytes are used[, uploads in progress need {arrivingBytes}][, {waitingBytes} of deleted files are still on the disk].',
    remedy:
      'Delete unused images, model versions or scripts; `platform usage` lists what uses the space. Deleting frees space at once while used and deleted files together stay below twice the limit. The operator of the server can raise the limit (--org-limit-gib).',
  },
} as const satisfies Record<string, ErrorRow>;
