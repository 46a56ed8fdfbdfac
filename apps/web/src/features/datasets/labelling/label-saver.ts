import type { Transport } from '@connectrpc/connect';
import { callUnaryMethod } from '@connectrpc/connect-query';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { SuggestionService } from '@platform/contract/gen/platform/suggestions/v1/suggestions_pb';
import { Cell, type Clock } from '@platform/kit';
import { wireBox } from '../../../entities/image/image-boxes.ts';
import { failureOf, hasServerAnswer } from '../../../ui/failures.ts';
import type { LabelEdit } from './label-edits.ts';
import { addSaves, decideConflict, emptyQueue, nextSaves, settleSave, settleTogether } from './label-saves.ts';
import type { Save, SaveOutcome, SaveQueue } from './label-saves.ts';
import type { KeptEdits } from './kept-edits.ts';

const retryMs = 3_000;

export interface LabelSaver {
  readonly queue: Cell<SaveQueue>;
  /** The last refusal that stopped the queue. */
  readonly error: Cell<unknown>;
  add(edits: readonly LabelEdit[]): void;
  /** What the user decided about an image whose edits the server refused. */
  decide(image: string, edits: readonly LabelEdit[]): void;
  /** Tries again at once. */
  retry(): void;
  /** Retries while a page shows it. @returns ends that: saves what can be saved; what cannot stays in the browser */
  follow(): () => void;
}

interface SaverParts {
  datasetId: string;
  transport: Transport;
  clock: Clock;
  kept: KeptEdits;
  /** Called after the last waiting edit was saved. */
  onSaved: () => void;
}

/** Saves edits in the background in their order, and keeps them in the browser until the server has them. */
export function labelSaver({ datasetId, transport, clock, kept, onSaved }: SaverParts): LabelSaver {
  const queue = new Cell(addSaves(emptyQueue, kept.adopt()));
  const error = new Cell<unknown>(undefined);
  let [isRunning, isLeft] = [false, true];
  let waking = new AbortController();
  const update = (change: (now: SaveQueue) => SaveQueue): void => {
    queue.update(change);
    kept.keep(queue.get().waiting.map(({ edit }) => edit));
  };
  const saveOne = async (): Promise<boolean> => {
    const saves = nextSaves(queue.get());
    const [save] = saves;
    if (!save) return false;
    const { saved, outcome, cause } = await saveSome(transport, datasetId, saves);
    error.set(cause);
    update((now) => (outcome === 'saved' ? settleTogether(now, saved) : settleSave(now, save, outcome)));
    if (outcome === 'refused') return false;
    if (outcome !== 'unreachable') return true;
    if (isLeft) return false;
    waking = new AbortController();
    await clock.sleep(retryMs, waking.signal);
    return true;
  };
  const run = async (): Promise<void> => {
    if (isRunning) return;
    isRunning = true;
    while (await saveOne());
    isRunning = false;
    if (queue.get().waiting.length === 0) onSaved();
  };
  const retry = (): void => {
    waking.abort();
    void run();
  };
  return {
    queue,
    error,
    add: (edits) => {
      if (edits.length === 0) return;
      update((now) => addSaves(now, edits));
      void run();
    },
    decide: (image, edits) => {
      update((now) => decideConflict(now, image, edits));
      void run();
    },
    retry,
    follow: () => {
      isLeft = false;
      retry();
      return () => {
        isLeft = true;
        waking.abort();
      };
    },
  };
}

async function saveEdit(
  transport: Transport,
  datasetId: string,
  edit: LabelEdit,
): Promise<{ outcome: SaveOutcome; cause: unknown }> {
  try {
    if (edit.do === 'labels') await saveLabels(transport, edit);
    else if (edit.do === 'box') await saveBox(transport, edit);
    else await saveRejection(transport, datasetId, edit);
    return { outcome: 'saved', cause: undefined };
  } catch (cause) {
    return { outcome: outcomeOf(edit, cause), cause };
  }
}

/** Saves all of these by one call, or the first alone: one image of several may have a conflict. */
async function saveSome(transport: Transport, datasetId: string, saves: readonly Save[]) {
  if (saves.length > 1 && (await isSavedTogether(transport, saves)))
    return { saved: saves, outcome: 'saved', cause: undefined } as const;
  const [first] = saves;
  if (!first) return { saved: [], outcome: 'saved', cause: undefined } as const;
  return { saved: [first], ...(await saveEdit(transport, datasetId, first.edit)) };
}

/** Saves edits that change the same labels of several images. @returns false if none was saved. */
async function isSavedTogether(transport: Transport, saves: readonly Save[]): Promise<boolean> {
  const [edit] = saves.flatMap((save) => (save.edit.do === 'labels' ? [save.edit] : []));
  const images = saves.map((save) => save.edit.image);
  if (!edit) return false;
  try {
    await saveLabels(transport, edit, images);
    return true;
  } catch {
    return false; // the first is saved again alone, and says why
  }
}

/** Each save names what was there before, so that the server refuses to overwrite what another user changed. */
const saveLabels = (
  transport: Transport,
  { image, before, after }: Extract<LabelEdit, { do: 'labels' }>,
  images: readonly string[] = [image],
) =>
  callUnaryMethod(transport, DataService.method.addTagsToBinaryDataByIDs, {
    binaryDataIds: [...images],
    tags: after.filter((label) => !before.includes(label)),
    removeLabels: before.filter((label) => !after.includes(label)),
    expectedLabels: { labels: [...before] },
  });

function saveBox(transport: Transport, { image: binaryDataId, edit }: Extract<LabelEdit, { do: 'box' }>) {
  const { addBoundingBoxToImageByID, removeBoundingBoxFromImageByID, updateBoundingBox } = DataService.method;
  if (edit.do === 'add') {
    const request = { binaryDataId, bboxId: edit.box.id, ...wireBox(edit.box) };
    return callUnaryMethod(transport, addBoundingBoxToImageByID, request);
  }
  if (edit.do === 'remove') {
    const request = { binaryDataId, bboxId: edit.box.id, expected: wireBox(edit.box) };
    return callUnaryMethod(transport, removeBoundingBoxFromImageByID, request);
  }
  const clearConfidence = edit.after.confidence === undefined;
  const expected = wireBox(edit.before);
  const request = { binaryDataId, bboxId: edit.after.id, ...wireBox(edit.after), clearConfidence, expected };
  return callUnaryMethod(transport, updateBoundingBox, request);
}

const saveRejection = (
  transport: Transport,
  datasetId: string,
  { image: binaryDataId, suggestion, isRejected }: Extract<LabelEdit, { do: 'reject' }>,
) =>
  callUnaryMethod(transport, SuggestionService.method.rejectSuggestions, {
    datasetId,
    binaryDataId,
    suggestionIds: [suggestion],
    undo: !isRejected,
  });

function outcomeOf(edit: LabelEdit, cause: unknown): SaveOutcome {
  if (!hasServerAnswer(cause)) return 'unreachable';
  switch (failureOf(cause).code) {
    case 'LABELS_CHANGED':
    case 'BOUNDING_BOX_CHANGED':
      return 'changed';
    case 'BOUNDING_BOX_NOT_FOUND':
      // The answer to the first try may have been lost.
      return edit.do === 'box' && edit.edit.do === 'remove' ? 'saved' : 'changed';
    case 'BINARY_DATA_NOT_FOUND':
      // A rejection of what is no longer there has nothing to do.
      return edit.do === 'reject' ? 'saved' : 'gone';
    default:
      return 'refused';
  }
}
