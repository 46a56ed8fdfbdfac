import { createContext, useContext } from 'react';
import type { DraftStore } from './draft-store.ts';

const DraftsContext = createContext<DraftStore | undefined>(undefined);

/** Gives all pages the unsaved texts that this browser keeps. */
export const DraftsProvider = DraftsContext.Provider;

export function useDraftStore(): DraftStore {
  const store = useContext(DraftsContext);
  if (store === undefined) throw new Error('A page was drawn without the drafts of the browser.');
  return store;
}
