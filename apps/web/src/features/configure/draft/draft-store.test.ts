import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DraftRows, draftStore } from './draft-store.ts';
import type { KeptDraft } from './drafts.ts';

const draftOf = (tab: string, text: string, keptAt: number): KeptDraft => ({
  text,
  secrets: [],
  comment: '',
  base: { revision: '1', text: '{}' },
  tab,
  keptAt,
});

/** A browser: its storage, and tabs that hear each other. */
function browser() {
  const stored = new Map<string, KeptDraft>();
  const rows: DraftRows = {
    all: async () => [...stored],
    set: async (name, draft) => void stored.set(name, draft),
    delete: async (name) => void stored.delete(name),
  };
  const listeners = new Set<(message: { key: string; page: string }) => void>();
  const tabs: Parameters<typeof draftStore>[0]['tabs'] = {
    send: (message) => listeners.forEach((hear) => hear(message)),
    listen: (hear) => {
      listeners.add(hear);
      return () => void listeners.delete(hear);
    },
  };
  return { stored, open: (tab: string, page = tab) => draftStore({ rows, tabs, tab, page }) };
}

test('a tab finds its own draft after a reload, and a new tab the newest one', async () => {
  const { open } = browser();
  await open('a').keep('k', draftOf('a', 'of a', 1));
  await open('b').keep('k', draftOf('b', 'of b', 2));
  assert.equal((await open('a').find('k'))?.text, 'of a');
  assert.equal((await open('c').find('k'))?.text, 'of b');
  assert.equal(await open('c').find('k2'), undefined);
});

test('a draft that another tab went on from leaves with it, unless it changed since', async () => {
  const { open, stored } = browser();
  const [a, b] = [open('a'), open('b')];
  const origin = draftOf('a', 'first', 1);
  await a.keep('k', origin);
  await b.keep('k', draftOf('b', 'first and more', 2));
  await a.keep('k', draftOf('a', 'changed since', 3));
  await b.remove('k', origin);
  assert.deepEqual(
    [...stored.values()].map(({ text }) => text),
    ['changed since'],
  );
  await b.remove('k', draftOf('a', 'changed since', 3));
  assert.equal(stored.size, 0);
});

test('tabs hear of each other, a duplicated one too, and none of itself', async () => {
  const { open } = browser();
  const heard: string[] = [];
  const a = open('a', 'page 1');
  a.watch('k', () => heard.push('page 1'));
  open('a', 'page 2').watch('k', () => heard.push('page 2'));
  const stop = open('b', 'page 3').watch('k', () => heard.push('page 3'));
  await a.keep('k', draftOf('a', 'x', 1));
  assert.deepEqual(heard, ['page 2', 'page 3']);
  stop();
  await a.keep('other', draftOf('a', 'x', 1));
  await a.remove('k');
  assert.deepEqual(heard, ['page 2', 'page 3', 'page 2']);
});

test('of many keystrokes at once the last one is stored', async () => {
  const { open, stored } = browser();
  const a = open('a');
  await Promise.all(['1', '12', '123'].map((text, at) => a.keep('k', draftOf('a', text, at))));
  assert.deepEqual(
    [...stored.values()].map(({ text }) => text),
    ['123'],
  );
});

test('a browser that stores nothing keeps drafts for the page, and says so', async () => {
  const refused = async (): Promise<never> => Promise.reject(new Error('no storage'));
  const store = draftStore({
    rows: { all: refused, set: refused, delete: refused },
    tabs: { send: () => {}, listen: () => () => {} },
    tab: 'a',
    page: 'a',
  });
  assert.equal(store.isLasting(), true);
  await store.keep('k', draftOf('a', 'kept', 1));
  assert.equal(store.isLasting(), false);
  assert.equal((await store.find('k'))?.text, 'kept');
});
