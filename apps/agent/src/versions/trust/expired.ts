import { clearCondition, setCondition, type ConditionSet } from '../../health/condition-set.ts';
import type { ExpiredDocument } from './refresh.ts';

const code = 'METADATA_EXPIRED';

/** Sets a condition for a document that looks expired. A later check that finds none clears it. */
export const reportExpiredMetadata =
  (conditions: ConditionSet) =>
  (document: ExpiredDocument | undefined): void => {
    if (!document) return clearCondition(conditions, code);
    const { role, expires } = document;
    setCondition(conditions, code, { role, expires });
  };
