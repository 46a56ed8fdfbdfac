import type { ErrorRow } from '../error-row.ts';

/** Calls about conditions; the conditions themselves are rows of packages/contract/src/conditions. */
export const conditionsErrors = {
  CONDITION_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no condition {conditionId}, or none that you may see.',
    remedy: 'List the conditions: platform conditions.',
  },
  MUTE_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no mute {muteId}, or none that you may see.',
    remedy: 'List what is muted: platform conditions --muted. It may have ended.',
  },
} as const satisfies Record<string, ErrorRow>;
