import type { Transport } from '@connectrpc/connect';
import { callUnaryMethod, useTransport } from '@connectrpc/connect-query';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { useRef, useState } from 'react';
import { applyEdit, invertEdit, replaceId } from '../../../entities/image/boxes.ts';
import type { Box, BoxEdit } from '../../../entities/image/boxes.ts';
import { wireBox } from '../../../entities/image/image-boxes.ts';

const { addBoundingBoxToImageByID, removeBoundingBoxFromImageByID, updateBoundingBox } = DataService.method;
interface State {
  boxes: readonly Box[];
  /** The edits that can be undone, the last one last. */
  done: readonly BoxEdit[];
  /** Edits that the server has not answered yet; undefined before the first edit. */
  unsaved: number | undefined;
  error: unknown;
}

/** @returns the edit as the server saved it: a new box has an ID. */
async function saveEdit(transport: Transport, binaryDataId: string, edit: BoxEdit): Promise<BoxEdit> {
  if (edit.do === 'add') {
    const request = { binaryDataId, ...wireBox(edit.box) };
    const { bboxId } = await callUnaryMethod(transport, addBoundingBoxToImageByID, request);
    return { do: 'add', box: { ...edit.box, id: bboxId } };
  }
  if (edit.do === 'remove')
    await callUnaryMethod(transport, removeBoundingBoxFromImageByID, { binaryDataId, bboxId: edit.box.id });
  else {
    const clearConfidence = edit.after.confidence === undefined;
    const request = { binaryDataId, bboxId: edit.after.id, ...wireBox(edit.after), clearConfidence };
    await callUnaryMethod(transport, updateBoundingBox, request);
  }
  return edit;
}

/**
 * The boxes of one image. An edit shows at once; the server saves the edits in their order. An edit that the server
 * refuses is reverted.
 */
export function useBoxEdits(binaryDataId: string, start: readonly Box[]) {
  const transport = useTransport();
  const [state, setState] = useState<State>({ boxes: start, done: [], unsaved: undefined, error: undefined });
  const latest = useRef(state);
  const queue = useRef<Promise<unknown>>(Promise.resolve());
  const update = (change: (now: State) => Partial<State>): void => {
    latest.current = { ...latest.current, ...change(latest.current) };
    setState(latest.current);
  };

  const run = async (edit: BoxEdit, after: (done: readonly BoxEdit[], kept: BoxEdit) => readonly BoxEdit[]) => {
    // A new box shows when it has its ID, which every later edit of it needs.
    const isShown = edit.do !== 'add';
    update(({ boxes, unsaved = 0 }) => ({ boxes: isShown ? applyEdit(boxes, edit) : boxes, unsaved: unsaved + 1 }));
    const mine = queue.current.then(() => saveEdit(transport, binaryDataId, edit));
    queue.current = mine.catch(() => {}); // reported below
    try {
      const kept = await mine;
      update(({ boxes, done, unsaved = 1 }) => ({
        boxes: isShown ? boxes : applyEdit(boxes, kept),
        done: after(done, kept),
        unsaved: unsaved - 1,
        error: undefined,
      }));
      return kept;
    } catch (error) {
      update(({ boxes, unsaved = 1 }) => ({
        boxes: isShown ? applyEdit(boxes, invertEdit(edit)) : boxes,
        unsaved: unsaved - 1,
        error,
      }));
      return undefined;
    }
  };
  return {
    ...state,
    edit: (edit: BoxEdit) => run(edit, (done, kept) => [...done, kept]),
    undo: async (): Promise<void> => {
      await queue.current;
      const last = latest.current.done.at(-1);
      if (!last) return;
      const back = invertEdit(last);
      update(({ done }) => ({ done: done.slice(0, -1) }));
      await run(back, (done, kept) =>
        back.do === 'add' && kept.do === 'add' ? replaceId(done, back.box.id, kept.box.id) : done,
      );
    },
  };
}
