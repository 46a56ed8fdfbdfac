import { clearCondition, setCondition, type ConditionSet } from '../../health/condition-set.ts';
import type { ExpiredDocument } from './refresh.ts';

const code = 'METADATA_EXPIRED';

/** Sets a condition for a document that looks expired. A later check that finds none clears it. */
export const reportExpiredMetadata =
  (conditions: ConditionSet) =>
  (document: ExpiredDocument | undefined): void => {
    if (!document) return clearCondition(conditions, code);
    const { role, expires } = document;
    const message = `A release was fetched though its signed ${role} document looks expired (${expires}): no time server sets the clock of this machine, so it decides nothing.`;
    const remedy =
      'Let a time server set the clock. If the clock is right, the management server serves old documents: look at its log.';
    setCondition(conditions, { code, severity: 'warning', message, remedy });
  };
