import type { PaletteEntry } from './palette-entries.ts';

const most = 6;

export type RecentEntry = Pick<PaletteEntry, 'text'> & { path: string };

const isRecent = (value: unknown): value is RecentEntry =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as RecentEntry).text === 'string' &&
  typeof (value as RecentEntry).path === 'string' &&
  (value as RecentEntry).path.startsWith('/') &&
  !(value as RecentEntry).path.startsWith('//');

/** @param stored - what an earlier visit stored; anything else counts as nothing. */
export function readRecent(stored: string | null): RecentEntry[] {
  try {
    const value: unknown = JSON.parse(stored ?? '[]');
    return Array.isArray(value) ? value.filter(isRecent).slice(0, most) : [];
  } catch {
    return [];
  }
}

/** The newest first, each path once. */
export const addRecent = (before: readonly RecentEntry[], { text, path }: RecentEntry): RecentEntry[] =>
  [{ text, path }, ...before.filter((one) => one.path !== path)].slice(0, most);
