import { callUnaryMethod, useTransport } from '@connectrpc/connect-query';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { useState } from 'react';
import { applied, inverse, renamed } from '../view/boxes.ts';
import type { Box, BoxEdit } from '../view/boxes.ts';

const { addBoundingBoxToImageByID, removeBoundingBoxFromImageByID, updateBoundingBox } = DataService.method;
const wire = ({ label, xMin, yMin, xMax, yMax }: Box) => ({
  label,
  xMinNormalized: xMin,
  yMinNormalized: yMin,
  xMaxNormalized: xMax,
  yMaxNormalized: yMax,
});

interface State {
  boxes: readonly Box[];
  /** What can be taken back, the last one last. */
  done: readonly BoxEdit[];
  isBusy: boolean;
  error: unknown;
}

/** The boxes of one picture. Every edit is kept by the server at once; the last ones can be taken back. */
export function useBoxEdits(binaryDataId: string, start: readonly Box[]) {
  const transport = useTransport();
  const [state, setState] = useState<State>({ boxes: start, done: [], isBusy: false, error: undefined });

  /** @returns the edit as it was kept: a new box has got its ID. */
  const keep = async (edit: BoxEdit): Promise<BoxEdit> => {
    if (edit.do === 'add') {
      const { bboxId } = await callUnaryMethod(transport, addBoundingBoxToImageByID, {
        binaryDataId,
        ...wire(edit.box),
      });
      return { do: 'add', box: { ...edit.box, id: bboxId } };
    }
    if (edit.do === 'remove')
      await callUnaryMethod(transport, removeBoundingBoxFromImageByID, { binaryDataId, bboxId: edit.box.id });
    else
      await callUnaryMethod(transport, updateBoundingBox, { binaryDataId, bboxId: edit.after.id, ...wire(edit.after) });
    return edit;
  };
  const run = async (edit: BoxEdit, after: (done: readonly BoxEdit[], kept: BoxEdit) => readonly BoxEdit[]) => {
    setState((now) => ({ ...now, isBusy: true, error: undefined }));
    try {
      const kept = await keep(edit);
      setState((now) => ({ ...now, boxes: applied(now.boxes, kept), done: after(now.done, kept), isBusy: false }));
      return kept;
    } catch (error) {
      setState((now) => ({ ...now, isBusy: false, error }));
      return undefined;
    }
  };
  return {
    ...state,
    edit: (edit: BoxEdit) => run(edit, (done, kept) => [...done, kept]),
    undo: async (): Promise<void> => {
      const last = state.done.at(-1);
      if (!last || state.isBusy) return;
      const back = inverse(last);
      await run(back, (done, kept) => {
        const rest = done.slice(0, -1);
        return back.do === 'add' && kept.do === 'add' ? renamed(rest, back.box.id, kept.box.id) : rest;
      });
    },
  };
}
