/** Where a key leads after G. */
export const jumps: readonly { key: string; to: string; text: string }[] = [
  { key: 'o', to: '/', text: 'Overview' },
  { key: 'm', to: '/machines', text: 'Machines' },
  { key: 'f', to: '/fragments', text: 'Fragments' },
  { key: 't', to: '/training', text: 'Training' },
  { key: 'r', to: '/runners', text: 'Runners' },
  { key: 'd', to: '/datasets', text: 'Datasets' },
  { key: 'l', to: '/models', text: 'Models' },
  { key: 's', to: '/settings', text: 'Settings' },
];

/** G stays in effect this long. */
export const sequenceMs = 1500;

export interface Press {
  readonly key: string;
  readonly hasCommand: boolean;
  readonly hasAlt: boolean;
  /** Milliseconds, of a clock that only goes forward. */
  readonly at: number;
}

export type ShortcutAction =
  | { readonly is: 'palette' | 'list' | 'filter' }
  | { readonly is: 'jump'; readonly to: string };

export interface ShortcutStep {
  readonly action?: ShortcutAction;
  /** When G was pressed; absent: it was not. */
  readonly sequenceSince?: number;
}

/** What a key means outside of fields and dialogs. */
export function stepShortcut(sequenceSince: number | undefined, press: Press, areSingleKeysOn: boolean): ShortcutStep {
  const { hasCommand, hasAlt, at } = press;
  const key = press.key.length === 1 ? press.key.toLowerCase() : press.key;
  if (hasCommand) return key === 'k' && !hasAlt ? { action: { is: 'palette' } } : {};
  if (hasAlt || !areSingleKeysOn) return {};
  // Shift and the like come before the key that they change.
  if (key.length > 1) return key === 'Shift' && sequenceSince !== undefined ? { sequenceSince } : {};
  if (sequenceSince !== undefined && at - sequenceSince <= sequenceMs) {
    const jump = jumps.find((one) => one.key === key);
    return jump ? { action: { is: 'jump', to: jump.to } } : {};
  }
  if (key === 'g') return { sequenceSince: at };
  if (key === '?') return { action: { is: 'list' } };
  return key === '/' ? { action: { is: 'filter' } } : {};
}
