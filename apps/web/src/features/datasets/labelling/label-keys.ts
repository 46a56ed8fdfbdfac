// The keys of the labelling screen.
import { labelModes } from './label-modes.ts';
import type { LabelMode } from './label-modes.ts';
import type { Command, Labelling } from './labelling.ts';

/** Letters that are commands; the others are labels. */
const commandLetters = 'clmzhyn';
/** In the order in which labels get them: digits, then letters. */
export const labelKeyNames: readonly string[] = [
  ...'123456789'.split(''),
  ...'abcdefghijklmnopqrstuvwxyz'.split('').filter((letter) => !commandLetters.includes(letter)),
];

/** The key of a label; undefined: more labels than keys, so it is chosen by its name. */
export const keyOf = (labels: readonly string[], label: string): string | undefined =>
  labelKeyNames[labels.indexOf(label)];

/** Labels keep the keys that they had; new ones follow in the order of the alphabet. */
export function keyOrder(kept: readonly string[], known: readonly string[]): string[] {
  const had = kept.filter((label) => known.includes(label));
  return [...had, ...known.filter((label) => !had.includes(label)).toSorted()];
}

/** What the screen does itself; it changes no image. */
export type ScreenCommand = 'new-label' | 'zoom-in' | 'zoom-out' | 'fit' | 'help' | 'close' | 'hide-boxes';
export type KeyMeaning = Command | { do: 'screen'; what: ScreenCommand } | { do: 'pan'; x: number; y: number };

interface Key {
  readonly key: string;
  readonly shiftKey: boolean;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
}

const screen: Readonly<Record<string, ScreenCommand>> = {
  l: 'new-label',
  h: 'hide-boxes',
  '+': 'zoom-in',
  '=': 'zoom-in',
  '-': 'zoom-out',
  '0': 'fit',
  '?': 'help',
  Escape: 'close',
};
const moves: Readonly<Record<string, Extract<Command, { do: 'go' }>['to']>> = {
  ArrowRight: 'next',
  ArrowDown: 'next',
  ArrowLeft: 'previous',
  ArrowUp: 'previous',
  Home: 'first',
  End: 'last',
  ' ': 'unlabelled',
};
const pans: Readonly<Record<string, readonly [x: number, y: number]>> = {
  ArrowRight: [1, 0],
  ArrowLeft: [-1, 0],
  ArrowDown: [0, 1],
  ArrowUp: [0, -1],
};

const nextMode = (mode: LabelMode): LabelMode =>
  labelModes[(labelModes.indexOf(mode) + 1) % labelModes.length] ?? 'one';

/** What a key means; undefined: nothing, so that the browser may use it. */
export function meaningOf(
  { key, shiftKey, ctrlKey, metaKey, altKey }: Key,
  { labels, mode }: Pick<Labelling, 'labels' | 'mode'>,
  newId: () => string,
): KeyMeaning | undefined {
  const letter = key.length === 1 ? key.toLowerCase() : key;
  if (altKey) return undefined;
  if (letter === 'z') return { do: shiftKey ? 'redo' : 'undo' };
  if (ctrlKey || metaKey) return letter === 'y' ? { do: 'redo' } : undefined;
  const pan = shiftKey ? pans[key] : undefined;
  if (pan) return { do: 'pan', x: pan[0], y: pan[1] };
  const what = screen[letter];
  if (what) return { do: 'screen', what };
  const to = moves[key];
  if (to) return { do: 'go', to };
  if (key === 'Backspace' || key === 'Delete') return { do: 'clear' };
  if (letter === 'y') return { do: shiftKey ? 'accept-all' : 'accept' };
  if (letter === 'n') return { do: 'reject' };
  if (letter === '[' || letter === ']') return { do: 'minimum', way: letter === ']' ? 'up' : 'down' };
  if (letter === 'c') return { do: 'copy', newId };
  if (letter === 'm') return { do: 'mode', mode: nextMode(mode) };
  const at = labelKeyNames.indexOf(letter);
  const label = at === -1 ? undefined : labels[at];
  return label === undefined ? undefined : { do: 'label', label };
}
