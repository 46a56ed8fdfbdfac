/** What the URL keeps of the page of conditions. */
export interface ConditionSearch {
  state?: string | undefined;
  severity?: string | undefined;
  subject?: string | undefined;
  code?: string | undefined;
  q?: string | undefined;
}

const keys = ['state', 'severity', 'subject', 'code', 'q'] as const;

export const readConditionSearch = (search: Record<string, unknown>): ConditionSearch =>
  Object.fromEntries(
    keys.flatMap((key) => {
      const value = search[key];
      return (typeof value === 'string' || typeof value === 'number') && value !== '' ? [[key, String(value)]] : [];
    }),
  );
