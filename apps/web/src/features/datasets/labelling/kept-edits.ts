import type { LabelEdit } from './label-edits.ts';

/** Edits that the server does not have yet, kept in this browser, so that a reload or a crash loses none. */
export interface KeptEdits {
  /** What earlier pages left behind; from now on they are those of this page. */
  adopt(): LabelEdit[];
  keep(edits: readonly LabelEdit[]): void;
  /** False once the browser refused to store: edits then last as long as the page. */
  isLasting(): boolean;
}

const prefix = 'platform-unsaved-labels';

/** @param owner - user and dataset; `newId` names this page beside others of the same browser. */
export function keptEdits(owner: string, newId: () => string): KeptEdits {
  const group = `${prefix}/${owner}/`;
  const mine = group + newId();
  let isLasting = true;
  const attempt = <T>(run: () => T, otherwise: T): T => {
    try {
      return run();
    } catch {
      isLasting = false;
      return otherwise;
    }
  };
  const put = (edits: readonly LabelEdit[]): void => {
    if (edits.length === 0) localStorage.removeItem(mine);
    else localStorage.setItem(mine, JSON.stringify(edits));
  };
  return {
    adopt: () =>
      attempt(() => {
        const keys = Object.keys(localStorage).filter((key) => key.startsWith(group) && key !== mine);
        const edits = keys.flatMap((key) => JSON.parse(localStorage.getItem(key) ?? '[]') as LabelEdit[]);
        put(edits);
        for (const key of keys) localStorage.removeItem(key);
        return edits;
      }, []),
    keep: (edits) => attempt(() => put(edits), undefined),
    isLasting: () => isLasting,
  };
}

/** Labels in the order of their keys, so that a key means the same tomorrow. */
export const keptKeys = (datasetId: string) => {
  const name = `platform-label-keys/${datasetId}`;
  return {
    read: (): string[] => {
      try {
        const value: unknown = JSON.parse(localStorage.getItem(name) ?? '[]');
        return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
      } catch {
        return [];
      }
    },
    keep: (labels: readonly string[]): void => {
      try {
        localStorage.setItem(name, JSON.stringify(labels));
      } catch {
        // Without storage, labels have their keys in the order of the alphabet.
      }
    },
  };
};
