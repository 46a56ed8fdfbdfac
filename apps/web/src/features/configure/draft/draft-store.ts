import { createStore, del, entries, set } from 'idb-keyval';
import type { KeptDraft } from './drafts.ts';

/** Begins the keys of queries that the browser's own drafts answer. */
export const draftQueries = 'draft';

/** Keeps unsaved texts in this browser. A draft has a key (user and part); each tab keeps its own. */
export interface DraftStore {
  /** This tab, also after a reload. */
  readonly tab: string;
  /** The draft of this tab, else the newest of another one. */
  find(key: string): Promise<KeptDraft | undefined>;
  /** The newest draft of another tab. */
  findOther(key: string): Promise<KeptDraft | undefined>;
  /** Keeps the draft of this tab. If many come at once, the last one counts. */
  keep(key: string, draft: KeptDraft): Promise<void>;
  /** Removes the draft of this tab and, if it has not changed since, the one of another tab that this one went on from. */
  remove(key: string, origin?: KeptDraft): Promise<void>;
  /** Calls the listener when another tab has kept or removed a draft. @returns stops it */
  watch(key: string, listener: () => void): () => void;
  /** False once the browser refused to store: drafts then last as long as the page. */
  isLasting(): boolean;
}

const tabsKey = 'platform-draft-changed';

/** Where drafts are stored. */
export interface DraftRows {
  all(): Promise<[name: string, draft: KeptDraft][]>;
  set(name: string, draft: KeptDraft): Promise<void>;
  delete(name: string): Promise<void>;
}

/** @throws what IndexedDB throws, for example where the browser forbids storing */
function storedRows(): DraftRows {
  const store = createStore('platform-drafts', 'drafts');
  return {
    all: () => entries<string, KeptDraft>(store),
    set: (name, draft) => set(name, draft, store),
    delete: (name) => del(name, store),
  };
}

const rowsInMemory = (): DraftRows => {
  const rows = new Map<string, KeptDraft>();
  return {
    all: async () => [...rows],
    set: async (name, draft) => void rows.set(name, draft),
    delete: async (name) => void rows.delete(name),
  };
};

/** What other tabs hear; `page` is not stored, so a duplicated tab hears its original. */
interface Message {
  readonly key: string;
  readonly page: string;
}

/** Between the tabs of this browser. */
interface Tabs {
  send(message: Message): void;
  /** @returns stops it */
  listen(hear: (message: Message) => void): () => void;
}

interface Parts {
  readonly rows: DraftRows;
  readonly tabs: Tabs;
  readonly tab: string;
  readonly page: string;
}

export function draftStore({ rows: stored, tabs, tab, page }: Parts): DraftStore {
  let rows = stored;
  let isLasting = true;
  /** Runs on the storage of the browser, from its first failure on in memory. */
  const use = async <T>(run: (on: DraftRows) => Promise<T>): Promise<T> => {
    try {
      return await run(rows);
    } catch {
      if (isLasting) rows = rowsInMemory();
      isLasting = false;
      return run(rows);
    }
  };
  const nameOf = (key: string, of: string): string => `${key}#${of}`;
  const waiting = new Map<string, KeptDraft | undefined>();
  let writing: Promise<void> | undefined;
  const newest = async (key: string, isWanted: (draft: KeptDraft) => boolean): Promise<KeptDraft | undefined> => {
    await writing;
    return (await use((on) => on.all()))
      .filter(([name, draft]) => name.startsWith(`${key}#`) && isWanted(draft))
      .map(([, draft]) => draft)
      .toSorted((a, b) => b.keptAt - a.keptAt)[0];
  };
  const tell = (key: string): void => tabs.send({ key, page });
  const findOther = (key: string) => newest(key, (draft) => draft.tab !== tab);
  const write = async (): Promise<void> => {
    for (let next = waiting.entries().next().value; next; next = waiting.entries().next().value) {
      const [key, draft] = next;
      waiting.delete(key);
      const name = nameOf(key, tab);
      await use((on) => (draft === undefined ? on.delete(name) : on.set(name, draft)));
      tell(key);
    }
  };
  const put = (key: string, draft: KeptDraft | undefined): Promise<void> => {
    waiting.set(key, draft);
    writing ??= write().finally(() => (writing = undefined));
    return writing;
  };
  return {
    tab,
    find: async (key) => (await newest(key, (draft) => draft.tab === tab)) ?? findOther(key),
    findOther,
    keep: put,
    remove: async (key, origin) => {
      await put(key, undefined);
      if (origin === undefined || origin.tab === tab) return;
      const now = await newest(key, (draft) => draft.tab === origin.tab);
      if (now?.keptAt !== origin.keptAt) return;
      await use((on) => on.delete(nameOf(key, origin.tab)));
      tell(key);
    },
    watch: (key, listener) =>
      tabs.listen((message) => {
        if (message.key === key && message.page !== page) listener();
      }),
    isLasting: () => isLasting,
  };
}

/** Tabs hear what another one writes into the local storage. */
const tabsOfBrowser = (): Tabs => ({
  send: (message) => {
    try {
      localStorage.setItem(tabsKey, JSON.stringify({ ...message, id: newId() }));
    } catch {
      // Without storage tabs do not share drafts.
    }
  },
  listen: (hear) => {
    const listener = ({ key, newValue }: StorageEvent): void => {
      if (key === tabsKey && newValue !== null) hear(JSON.parse(newValue) as Message);
    };
    window.addEventListener('storage', listener);
    return () => window.removeEventListener('storage', listener);
  },
});

/** Random and unique; crypto.randomUUID exists over HTTPS only. */
export const newId = (): string =>
  [...crypto.getRandomValues(new Uint8Array(12))].map((byte) => byte.toString(16)).join('-');

/** A tab keeps its name over reloads. */
function tabName(): string {
  try {
    const known = sessionStorage.getItem('platform-tab') ?? newId();
    sessionStorage.setItem('platform-tab', known);
    return known;
  } catch {
    return newId();
  }
}

/** The drafts of this browser. */
export function browserDrafts(): DraftStore {
  const parts = { tabs: tabsOfBrowser(), tab: tabName(), page: newId() };
  try {
    return draftStore({ ...parts, rows: storedRows() });
  } catch {
    const refused = async (): Promise<never> => Promise.reject(new Error('The browser has no IndexedDB.'));
    return draftStore({ ...parts, rows: { all: refused, set: refused, delete: refused } });
  }
}
