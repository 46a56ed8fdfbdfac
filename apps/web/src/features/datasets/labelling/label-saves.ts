// The queue of edits that wait to be saved: in their order, one at a time. Nothing leaves it but what the server saved
// or the user decided about.
import type { LabelEdit } from './label-edits.ts';

export interface Save {
  /** Rises; later edits have higher ones. */
  readonly number: number;
  readonly edit: LabelEdit;
}

/** Why the edits of an image wait for a decision of the user. */
export type Conflict = 'changed' | 'gone';

export interface SaveQueue {
  readonly waiting: readonly Save[];
  /** Images whose edits the server refused. */
  readonly conflicts: Readonly<Record<string, Conflict>>;
  readonly state: 'saving' | 'offline' | 'stopped';
}

export const emptyQueue: SaveQueue = { waiting: [], conflicts: {}, state: 'saving' };

export function addSaves(queue: SaveQueue, edits: readonly LabelEdit[]): SaveQueue {
  const from = (queue.waiting.at(-1)?.number ?? 0) + 1;
  return { ...queue, waiting: [...queue.waiting, ...edits.map((edit, at) => ({ number: from + at, edit }))] };
}

/** The edit to save next. Edits of an image with a conflict wait; those of other images go on. */
export const nextSave = ({ waiting, conflicts }: SaveQueue): Save | undefined =>
  waiting.find(({ edit }) => conflicts[edit.image] === undefined);

/** Edits of one call. */
const mostAtOnce = 200;

/**
 * The edit to save next, with later ones that change the same labels of other images: one call saves all of them. Edits
 * of one image stay in their order.
 */
export function nextSaves(queue: SaveQueue): Save[] {
  const first = nextSave(queue);
  if (first?.edit.do !== 'labels') return first ? [first] : [];
  const change = JSON.stringify([first.edit.before, first.edit.after]);
  const saves: Save[] = [];
  const passed = new Set<string>();
  for (const save of queue.waiting) {
    const { edit } = save;
    const isSame = edit.do === 'labels' && JSON.stringify([edit.before, edit.after]) === change;
    if (isSame && !passed.has(edit.image) && queue.conflicts[edit.image] === undefined) saves.push(save);
    passed.add(edit.image);
    if (saves.length === mostAtOnce) break;
  }
  return saves;
}

/** The server has all of these. */
export function settleTogether(queue: SaveQueue, saves: readonly Save[]): SaveQueue {
  const saved = new Set(saves);
  return { ...queue, state: 'saving', waiting: queue.waiting.filter((save) => !saved.has(save)) };
}

/** How a save ended. */
export type SaveOutcome = 'saved' | 'unreachable' | 'refused' | Conflict;

export function settleSave(queue: SaveQueue, save: Save, outcome: SaveOutcome): SaveQueue {
  switch (outcome) {
    case 'saved':
      return { ...queue, state: 'saving', waiting: queue.waiting.filter((one) => one !== save) };
    case 'unreachable':
      return { ...queue, state: 'offline' };
    case 'refused':
      return { ...queue, state: 'stopped' };
    case 'changed':
    case 'gone':
      return { ...queue, state: 'saving', conflicts: { ...queue.conflicts, [save.edit.image]: outcome } };
  }
}

/** The user decided about an image: its old edits go, these come. */
export function decideConflict(queue: SaveQueue, image: string, edits: readonly LabelEdit[]): SaveQueue {
  const { [image]: _, ...conflicts } = queue.conflicts;
  const waiting = queue.waiting.filter((save) => save.edit.image !== image);
  return addSaves({ ...queue, conflicts, waiting }, edits);
}

/** The images that wait for a decision, in the order in which they were edited. */
export const conflictsOf = ({ waiting, conflicts }: SaveQueue): string[] => [
  ...new Set(waiting.map(({ edit }) => edit.image).filter((image) => conflicts[image] !== undefined)),
];
