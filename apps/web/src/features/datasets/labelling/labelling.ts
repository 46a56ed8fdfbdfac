// What the labelling screen shows and what each command does to it. Pure: the page saves the edits that a step returns.
import type { BoxEdit } from '../../../entities/image/boxes.ts';
import { editBox } from '../../../entities/image/boxes.ts';
import { applyLabelEdit, invertLabelEdit, isSameLabels } from './label-edits.ts';
import type { LabelEdit, LabelImage } from './label-edits.ts';
import type { LabelMode } from './label-modes.ts';
import { acceptAllEdits, acceptEdits, openSuggestions, otherMinimum, usualMinimum } from './suggestions.ts';

export interface Labelling {
  /** In the order of the dataset. */
  readonly images: readonly LabelImage[];
  /** The shown one. */
  readonly at: number;
  readonly mode: LabelMode;
  /** Labels in the order of their keys. */
  readonly labels: readonly string[];
  /** The label of the next box. */
  readonly boxLabel: string;
  /** Suggestions from this score on are accepted together. */
  readonly minimum: number;
  /** ID of the selected box. */
  readonly selected: string | undefined;
  /** Each entry is what one command did; the last one last. */
  readonly done: readonly (readonly LabelEdit[])[];
  readonly undone: readonly (readonly LabelEdit[])[];
}

export type Command =
  | { do: 'label'; label: string }
  | { do: 'clear' }
  | { do: 'go'; to: 'next' | 'previous' | 'unlabelled' | 'first' | 'last' }
  | { do: 'show'; image: string }
  | { do: 'copy'; newId: () => string }
  | { do: 'undo' }
  | { do: 'redo' }
  | { do: 'mode'; mode: LabelMode }
  | { do: 'accept' }
  | { do: 'accept-all' }
  | { do: 'reject' }
  | { do: 'minimum'; way: 'up' | 'down' }
  | { do: 'select'; box: string | undefined }
  | { do: 'box'; edit: BoxEdit };

export interface Step {
  readonly now: Labelling;
  /** To be saved, in this order. */
  readonly saves: readonly LabelEdit[];
}

export const shownImage = ({ images, at }: Labelling): LabelImage | undefined => images[at];

const isLabelled = (image: LabelImage, mode: LabelMode): boolean =>
  mode === 'boxes' ? image.boxes.length > 0 : image.labels.length > 0;

/** How the images of a dataset are labelled so far. */
export function usualMode(images: readonly LabelImage[]): LabelMode {
  if (images.some(({ labels }) => labels.length > 1)) return 'several';
  return images.some(({ boxes }) => boxes.length > 0) && !images.some(({ labels }) => labels.length > 0)
    ? 'boxes'
    : 'one';
}

/** Starts at this image, else at the first unlabelled one. */
export function startLabelling(
  images: readonly LabelImage[],
  { image, labels, mode = usualMode(images) }: { image?: string; labels: readonly string[]; mode?: LabelMode },
): Labelling {
  const wanted = images.findIndex(({ id }) => id === image);
  const open = images.findIndex((one) => !isLabelled(one, mode));
  const at = Math.max(0, wanted === -1 ? open : wanted);
  const boxLabel = images.flatMap(({ boxes }) => boxes).at(-1)?.label ?? labels[0] ?? '';
  return { images, at, mode, labels, boxLabel, minimum: usualMinimum, selected: undefined, done: [], undone: [] };
}

export const labelledCount = ({ images, mode }: Labelling): number =>
  images.reduce((count, image) => count + (isLabelled(image, mode) ? 1 : 0), 0);

/** The next image without a label after this place, from the start again after the last one. */
export function nextUnlabelled({ images, at, mode }: Labelling): number | undefined {
  for (let further = 1; further <= images.length; further++) {
    const place = (at + further) % images.length;
    const image = images[place];
    if (image && !isLabelled(image, mode)) return place;
  }
  return undefined;
}

const stay = (now: Labelling): Step => ({ now, saves: [] });
const goTo = (state: Labelling, at: number): Labelling =>
  at === state.at || at < 0 || at >= state.images.length ? state : { ...state, at, selected: undefined };

/** The images after these edits. */
export const applyAll = (images: readonly LabelImage[], edits: readonly LabelEdit[]): LabelImage[] => {
  const byImage = Map.groupBy(edits, ({ image }) => image);
  return images.map((image) => (byImage.get(image.id) ?? []).reduce(applyLabelEdit, image));
};

/** Does new edits, which can be undone. */
const edited = (state: Labelling, edits: readonly LabelEdit[]): Step =>
  edits.length === 0
    ? stay(state)
    : {
        now: { ...state, images: applyAll(state.images, edits), done: [...state.done, edits], undone: [] },
        saves: edits,
      };

const withKey = (state: Labelling, label: string): Labelling =>
  state.labels.includes(label) ? state : { ...state, labels: [...state.labels, label] };

function setLabels(state: Labelling, after: readonly string[]): Step {
  const image = shownImage(state);
  if (!image || isSameLabels(image.labels, after)) return stay(state);
  return edited(state, [{ do: 'labels', image: image.id, before: image.labels, after }]);
}

/** What a label does: to the selected box, to the next box, or to the image. */
function answer(before: Labelling, label: string): Step {
  const state = withKey(before, label);
  const image = shownImage(state);
  if (!image) return stay(state);
  if (state.mode === 'boxes') {
    const box = image.boxes.find(({ id }) => id === state.selected);
    const now = { ...state, boxLabel: label };
    if (!box || box.label === label) return stay(now);
    const edit: BoxEdit = { do: 'change', before: box, after: editBox(box, { label }) };
    return edited(now, [{ do: 'box', image: image.id, edit }]);
  }
  if (state.mode === 'several') {
    const has = image.labels.includes(label);
    return setLabels(state, has ? image.labels.filter((one) => one !== label) : [...image.labels, label]);
  }
  const { now, saves } = setLabels(state, [label]);
  // A correction stays, so that the user sees it.
  return image.labels.length > 0 ? { now, saves } : { now: goTo(now, nextUnlabelled(now) ?? now.at), saves };
}

/** Accepts the first suggestion as if the user had given its label. */
function accept(state: Labelling): Step {
  const image = shownImage(state);
  const [first] = image ? openSuggestions(image, state.mode) : [];
  if (!image || !first) return stay(state);
  if (state.mode === 'one') return answer(state, first.label);
  return edited(withKey(state, first.label), acceptEdits(image, state.mode, [first]));
}

/** Accepts what is sure enough on all images without a label, and goes to the next one without. */
function acceptAll(state: Labelling): Step {
  const { now, saves } = edited(state, acceptAllEdits(state.images, state.mode, state.minimum));
  const image = shownImage(now);
  const isDone = saves.length === 0 || (image && !isLabelled(image, now.mode));
  return { now: isDone ? now : goTo(now, nextUnlabelled(now) ?? now.at), saves };
}

function reject(state: Labelling): Step {
  const image = shownImage(state);
  const [first] = image ? openSuggestions(image, state.mode) : [];
  if (!image || !first) return stay(state);
  return edited(state, [{ do: 'reject', image: image.id, suggestion: first.id, isRejected: true }]);
}

function clear(state: Labelling): Step {
  const image = shownImage(state);
  if (!image) return stay(state);
  if (state.mode !== 'boxes') return setLabels(state, []);
  const box = image.boxes.find(({ id }) => id === state.selected);
  if (!box) return stay(state);
  return edited({ ...state, selected: undefined }, [{ do: 'box', image: image.id, edit: { do: 'remove', box } }]);
}

/** Adds the boxes of the image before, or its labels. */
function copy(state: Labelling, newId: () => string): Step {
  const [from, image] = [state.images[state.at - 1], shownImage(state)];
  if (!from || !image) return stay(state);
  if (state.mode !== 'boxes') return from.labels.length === 0 ? stay(state) : setLabels(state, from.labels);
  const edits = from.boxes.map((box): LabelEdit => {
    const added = editBox({ ...box, id: newId() }, {});
    return { do: 'box', image: image.id, edit: { do: 'add', box: added } };
  });
  return edited(state, edits);
}

/** Goes back to the first image of the last command and takes the command back; or does it again. */
function revert(state: Labelling, way: 'undo' | 'redo'): Step {
  const [from, to] = way === 'undo' ? (['done', 'undone'] as const) : (['undone', 'done'] as const);
  const last = state[from].at(-1);
  if (!last) return stay(state);
  const edits = way === 'undo' ? last.map(invertLabelEdit).toReversed() : last;
  const at = state.images.findIndex(({ id }) => id === last[0]?.image);
  const moved = goTo(state, at);
  return {
    now: {
      ...moved,
      images: applyAll(state.images, edits),
      [from]: state[from].slice(0, -1),
      [to]: [...state[to], last],
    },
    saves: edits,
  };
}

function go(state: Labelling, to: Extract<Command, { do: 'go' }>['to']): Labelling {
  switch (to) {
    case 'next':
      return goTo(state, state.at + 1);
    case 'previous':
      return goTo(state, state.at - 1);
    case 'first':
      return goTo(state, 0);
    case 'last':
      return goTo(state, state.images.length - 1);
    case 'unlabelled':
      return goTo(state, nextUnlabelled(state) ?? state.at);
  }
}

function editBoxes(state: Labelling, edit: BoxEdit): Step {
  const image = shownImage(state);
  if (!image) return stay(state);
  const selected = edit.do === 'add' ? edit.box.id : edit.do === 'remove' ? undefined : edit.after.id;
  return edited({ ...state, selected }, [{ do: 'box', image: image.id, edit }]);
}

export function step(state: Labelling, command: Command): Step {
  switch (command.do) {
    case 'label':
      return answer(state, command.label);
    case 'clear':
      return clear(state);
    case 'copy':
      return copy(state, command.newId);
    case 'accept':
      return accept(state);
    case 'accept-all':
      return acceptAll(state);
    case 'reject':
      return reject(state);
    case 'minimum':
      return stay({ ...state, minimum: otherMinimum(state.minimum, command.way) });
    case 'undo':
    case 'redo':
      return revert(state, command.do);
    case 'box':
      return editBoxes(state, command.edit);
    case 'go':
      return stay(go(state, command.to));
    case 'show':
      return stay(
        goTo(
          state,
          state.images.findIndex(({ id }) => id === command.image),
        ),
      );
    case 'mode':
      return stay({ ...state, mode: command.mode, selected: undefined });
    case 'select':
      return stay({ ...state, selected: command.box });
  }
}

const suggestionsIn = ({ suggestions }: LabelImage): Pick<LabelImage, 'suggestions'> =>
  suggestions === undefined ? {} : { suggestions };

/** Takes over an image as the server has it, with the suggestions as they are here; commands on it before can no longer be undone. */
export const replaceImage = (state: Labelling, image: LabelImage): Labelling => {
  const others = (edits: readonly LabelEdit[]): boolean => !edits.some((edit) => edit.image === image.id);
  return {
    ...state,
    images: state.images.map((one) => (one.id === image.id ? { ...image, ...suggestionsIn(one) } : one)),
    done: state.done.filter(others),
    undone: state.undone.filter(others),
  };
};
