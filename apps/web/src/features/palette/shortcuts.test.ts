import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jumps, type ShortcutStep, sequenceMs, stepShortcut } from './shortcuts.ts';

const press = (key: string, more: { hasCommand?: boolean; hasAlt?: boolean; at?: number } = {}) => ({
  key,
  hasCommand: false,
  hasAlt: false,
  at: 0,
  ...more,
});

const cases: readonly [what: string, step: ShortcutStep, expected: ShortcutStep][] = [
  ['Ctrl K', stepShortcut(undefined, press('k', { hasCommand: true }), true), { action: { is: 'palette' } }],
  ['Ctrl Alt K', stepShortcut(undefined, press('k', { hasCommand: true, hasAlt: true }), true), {}],
  ['Ctrl G', stepShortcut(undefined, press('g', { hasCommand: true }), true), {}],
  ['K', stepShortcut(undefined, press('k'), true), {}],
  ['?', stepShortcut(undefined, press('?'), true), { action: { is: 'list' } }],
  ['/', stepShortcut(undefined, press('/'), true), { action: { is: 'filter' } }],
  ['G', stepShortcut(undefined, press('g', { at: 5 }), true), { sequenceSince: 5 }],
  ['G M', stepShortcut(5, press('m', { at: 50 }), true), { action: { is: 'jump', to: '/machines' } }],
  ['G with capital M', stepShortcut(5, press('M', { at: 50 }), true), { action: { is: 'jump', to: '/machines' } }],
  ['G Shift', stepShortcut(5, press('Shift', { at: 50 }), true), { sequenceSince: 5 }],
  ['G, then an unknown key', stepShortcut(5, press('q', { at: 50 }), true), {}],
  ['G, and M too late', stepShortcut(5, press('m', { at: 6 + sequenceMs }), true), {}],
  ['? with single keys off', stepShortcut(undefined, press('?'), false), {}],
  [
    'Ctrl K with single keys off',
    stepShortcut(undefined, press('k', { hasCommand: true }), false),
    { action: { is: 'palette' } },
  ],
];

test('keys mean what the list of shortcuts says, and nothing else', () => {
  for (const [what, step, expected] of cases) assert.deepEqual(step, expected, what);
  assert.equal(new Set(jumps.map(({ key }) => key)).size, jumps.length);
});
