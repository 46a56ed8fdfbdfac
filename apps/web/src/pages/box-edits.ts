import { callUnaryMethod, useTransport } from '@connectrpc/connect-query';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { useRef, useState } from 'react';
import { applied, inverse, renamed } from '../view/boxes.ts';
import type { Box, BoxEdit } from '../view/boxes.ts';

const { addBoundingBoxToImageByID, removeBoundingBoxFromImageByID, updateBoundingBox } = DataService.method;
const wire = ({ label, xMin, yMin, xMax, yMax, confidence }: Box) => ({
  label,
  ...(confidence !== undefined && { confidence }),
  xMinNormalized: xMin,
  yMinNormalized: yMin,
  xMaxNormalized: xMax,
  yMaxNormalized: yMax,
});

interface State {
  boxes: readonly Box[];
  /** What can be taken back, the last one last. */
  done: readonly BoxEdit[];
  error: unknown;
}

/**
 * The boxes of one picture. What is changed shows at once and is kept by the server in the order it was done; what the
 * server refuses is taken back.
 */
export function useBoxEdits(binaryDataId: string, start: readonly Box[]) {
  const transport = useTransport();
  const [state, setState] = useState<State>({ boxes: start, done: [], error: undefined });
  const latest = useRef(state);
  const queue = useRef<Promise<unknown>>(Promise.resolve());
  const update = (change: (now: State) => Partial<State>): void => {
    latest.current = { ...latest.current, ...change(latest.current) };
    setState(latest.current);
  };

  /** @returns the edit as it was kept: a new box has got its ID. */
  const keep = async (edit: BoxEdit): Promise<BoxEdit> => {
    if (edit.do === 'add') {
      const request = { binaryDataId, ...wire(edit.box) };
      const { bboxId } = await callUnaryMethod(transport, addBoundingBoxToImageByID, request);
      return { do: 'add', box: { ...edit.box, id: bboxId } };
    }
    if (edit.do === 'remove')
      await callUnaryMethod(transport, removeBoundingBoxFromImageByID, { binaryDataId, bboxId: edit.box.id });
    else {
      const clearConfidence = edit.after.confidence === undefined;
      const request = { binaryDataId, bboxId: edit.after.id, ...wire(edit.after), clearConfidence };
      await callUnaryMethod(transport, updateBoundingBox, request);
    }
    return edit;
  };
  const run = async (edit: BoxEdit, after: (done: readonly BoxEdit[], kept: BoxEdit) => readonly BoxEdit[]) => {
    // A new box shows when it has its ID, which every later edit of it needs.
    const isShown = edit.do !== 'add';
    if (isShown) update(({ boxes }) => ({ boxes: applied(boxes, edit) }));
    const mine = queue.current.then(() => keep(edit));
    queue.current = mine.catch(() => {}); // told to whoever made the edit
    try {
      const kept = await mine;
      update(({ boxes, done }) => ({
        boxes: isShown ? boxes : applied(boxes, kept),
        done: after(done, kept),
        error: undefined,
      }));
      return kept;
    } catch (error) {
      update(({ boxes }) => ({ boxes: isShown ? applied(boxes, inverse(edit)) : boxes, error }));
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
      const back = inverse(last);
      update(({ done }) => ({ done: done.slice(0, -1) }));
      await run(back, (done, kept) =>
        back.do === 'add' && kept.do === 'add' ? renamed(done, back.box.id, kept.box.id) : done,
      );
    },
  };
}
