import type { ErrorRow } from '../error-row.ts';

/** Access: keys, sign-in, permissions, organizations. */
export const accessErrors = {
  INVALID_CREDENTIALS: {
    rpc: 'unauthenticated',
    retry: 'never',
    message: 'The key ID or the key is wrong.',
    remedy: 'Check both parts of the API key (or of the machine credentials); a deleted key stays invalid.',
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
    message: 'The token is no longer valid[: {problem}].',
    remedy:
      'Authenticate again: clients of ours do that once by themselves. A key that was deleted or rotated stays invalid; use another one then.',
  },
  SIGN_IN_LINK_INVALID: {
    rpc: 'unauthenticated',
    retry: 'never',
    message: 'The sign-in link was used before or is too old.',
    remedy: 'Make a new one: `platform sign-in`.',
  },
  PERMISSION_DENIED: {
    rpc: 'permission_denied',
    retry: 'never',
    message: 'The caller may not do this[ to {resource}].',
    remedy: 'Use a key that covers this resource.',
  },
  NOT_OWNER: {
    rpc: 'permission_denied',
    retry: 'never',
    message: 'This needs the owner role in the organization[ {organizationId}].',
    remedy: 'Use an API key with organization owner permission.',
  },
  RESOURCE_NOT_NAMED: {
    rpc: 'permission_denied',
    retry: 'never',
    message: '{by} does not name {resource}.',
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
    message: 'Nobody else owns {resource}: without this key, nobody could manage it.',
    remedy: 'Create another owner key first, then delete this one.',
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
      'Organization {organizationId} has no room for {sizeBytes} more bytes: {usedBytes} of {limitBytes} bytes are used[, {arrivingBytes} arrive now][, {waitingBytes} of deleted files are still on the disk].',
    remedy:
      'Delete images, model versions or scripts that nobody needs; that makes room at once, as long as used and deleted files together are below twice the limit. `platform usage` shows the counts. The operator of the server can raise the limit (--org-limit-gib).',
  },
} as const satisfies Record<string, ErrorRow>;
