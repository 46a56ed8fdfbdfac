import { callUnaryMethod, useTransport } from '@connectrpc/connect-query';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import type { BinaryMetadata } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { UserText } from '../../ui/isolated-text.tsx';
import { labelsOf } from './image-labels.ts';
import { keyOf, keyOrder, meaningOf } from './labelling/label-keys.ts';
import { formatCount } from '../../ui/quantities.ts';
import { keptKeys } from './labelling/kept-edits.ts';
import { useKeys } from './labelling/key-listener.ts';

interface AddedLabel {
  label: string;
  /** Images that did not have the label before. */
  ids: string[];
}
interface SelectionKeysProps {
  datasetId: string;
  images: readonly BinaryMetadata[];
  labels: readonly string[];
  onDone: () => void;
}
/** The keys of the labelling screen, for all selected images: a key adds a label, Z removes it again. */
export function useSelectionKeys({ datasetId, images, labels: known, onDone }: SelectionKeysProps) {
  const transport = useTransport();
  const labels = keyOrder(keptKeys(datasetId).read(), known);
  const [done, setDone] = useState<readonly AddedLabel[]>([]);
  const give = useMutation({
    mutationFn: async (label: string) => {
      const ids = images.filter((image) => !labelsOf(image).includes(label)).map((image) => image.binaryDataId);
      const request = { binaryDataIds: ids, tags: [label] };
      if (ids.length > 0) await callUnaryMethod(transport, DataService.method.addTagsToBinaryDataByIDs, request);
      setDone([...done, { label, ids }]);
    },
    onSuccess: onDone,
  });
  const undo = useMutation({
    mutationFn: async ({ label, ids }: AddedLabel) => {
      const request = { binaryDataIds: ids, tags: [label] };
      await callUnaryMethod(transport, DataService.method.removeTagsFromBinaryDataByIDs, request);
      setDone(done.slice(0, -1));
    },
    onSuccess: onDone,
  });
  const isIdle = !give.isPending && !undo.isPending;
  const last = done.at(-1);
  const undoLast = (): void => {
    if (isIdle && last) undo.mutate(last);
  };
  useKeys(true, (event) => {
    const meaning = meaningOf(event, { labels, mode: 'several' }, () => '');
    if (meaning?.do !== 'label' && meaning?.do !== 'undo') return;
    event.preventDefault();
    if (meaning.do === 'undo') undoLast();
    else if (isIdle) give.mutate(meaning.label);
  });
  return { labels, last, isIdle, give: give.mutate, undoLast, error: give.error ?? undo.error };
}

/** The labels with their keys, and what the last one did. */
export function SelectionKeys({ keys }: { keys: ReturnType<typeof useSelectionKeys> }) {
  const { labels, last, isIdle, give, undoLast } = keys;
  const withKeys = labels.flatMap((label) => {
    const key = keyOf(labels, label);
    return key === undefined ? [] : [{ label, key }];
  });
  if (withKeys.length === 0) return null;
  return (
    <div className="row">
      {withKeys.map(({ label, key }) => (
        <button
          key={label}
          type="button"
          className="button button-small"
          aria-keyshortcuts={key}
          disabled={!isIdle}
          onClick={() => give(label)}
        >
          <kbd>{key.toUpperCase()}</kbd> <UserText text={label} />
        </button>
      ))}
      {last && (
        <>
          <span role="status" className="small soft">
            {formatCount(last.ids.length, 'image')} labeled <UserText text={last.label} />
          </span>
          <button type="button" className="button button-small" disabled={!isIdle} onClick={undoLast}>
            Undo <kbd>Z</kbd>
          </button>
        </>
      )}
    </div>
  );
}
