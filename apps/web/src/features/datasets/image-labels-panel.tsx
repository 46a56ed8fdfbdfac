import { createConnectQueryKey, useMutation } from '@connectrpc/connect-query';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import type { BinaryMetadata, Classification } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { splits } from '@platform/contract/job/job';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { CrossIcon } from '../../ui/icons.tsx';
import { FailureNote } from '../../ui/messages.tsx';
import { UserText } from '../../ui/isolated-text.tsx';
import { useSession } from '../../entities/session/session.tsx';
import { withConfidence } from '../../entities/image/boxes.ts';
import { captureTagsOf } from './image-labels.ts';
import { isolateText } from '../../ui/user-text.ts';
import { useLabelCounts } from '../../entities/dataset/label-counts.ts';
import { SelectField, TextField } from '../../ui/fields.tsx';
import { Card } from '../../ui/layout.tsx';
import '../../ui/style/training.css';

const noSplit = '';
const splitTexts = { train: 'training', validation: 'validation', test: 'test' } as const;

/** Edits labels and split of one image; saved changes show at once. */
function useLabelEdits(metadata: BinaryMetadata) {
  const queries = useQueryClient();
  const [labels, setLabels] = useState<readonly string[]>(metadata.labels);
  const [predicted, setPredicted] = useState<readonly Classification[]>(metadata.annotations?.classifications ?? []);
  const [split, setSplit] = useState(metadata.split);
  const stale = (): void => {
    const schema = DataService.method.tagsByFilter;
    void queries.invalidateQueries({ queryKey: createConnectQueryKey({ schema, cardinality: 'finite' }) });
    for (const name of ['label-counts', 'labelled']) void queries.invalidateQueries({ queryKey: [name] });
  };
  const addition = useMutation(DataService.method.addTagsToBinaryDataByIDs, { onSuccess: stale });
  const removal = useMutation(DataService.method.removeTagsFromBinaryDataByIDs, { onSuccess: stale });
  const binaryDataIds = [metadata.binaryDataId];
  return {
    labels,
    predicted,
    split,
    isAdding: addition.isPending,
    error: addition.error ?? removal.error,
    add: async (label: string): Promise<void> => {
      await addition.mutateAsync({ binaryDataIds, tags: [label] });
      setLabels((now) => [...now, label]);
    },
    /** A label that a user set and a model predicted is removed as a whole. */
    remove: async (label: string): Promise<void> => {
      await removal.mutateAsync({ binaryDataIds, tags: [label], includeClassifications: true });
      setLabels((now) => now.filter((one) => one !== label));
      setPredicted((now) => now.filter((one) => one.label !== label));
    },
    choose: async (next: string): Promise<void> => {
      const others = splits.filter((one) => one !== next).map((one) => `split:${one}`);
      await removal.mutateAsync({ binaryDataIds, tags: others });
      if (next !== noSplit) await addition.mutateAsync({ binaryDataIds, tags: [`split:${next}`] });
      setSplit(next);
    },
  };
}

/** Labels of the whole image, those that a model predicted, its split, and the tags that came with its capture. */
export function ImageLabels({ metadata, datasetId }: { metadata: BinaryMetadata; datasetId: string }) {
  const { organization } = useSession();
  const { labels, predicted, split, isAdding, error, add, remove, choose } = useLabelEdits(metadata);
  const [text, setText] = useState('');
  const known =
    useLabelCounts(organization.organizationId, datasetId, 'tags').data?.labels.map((one) => one.label) ?? [];
  const captureTags = captureTagsOf(metadata);
  const submit = async (): Promise<void> => {
    const label = text.trim();
    if (label === '' || labels.includes(label)) return;
    await add(label);
    setText('');
  };
  return (
    <Card title="Labels of the whole image" label="Labels">
      <form
        className="card-body"
        onSubmit={(event) => {
          event.preventDefault();
          submit().catch(() => {}); // shown below
        }}
      >
        {labels.length > 0 && (
          <div className="row">
            {labels.map((label) => (
              <Removable key={label} text={label} name={`Remove the label ${isolateText(label)}`} onRemove={remove} />
            ))}
          </div>
        )}
        {predicted.length > 0 && <Predicted labels={predicted} onRemove={remove} />}
        <TextField label="Another label" value={text} onChange={setText} list={known} />
        <button type="submit" className="button" disabled={text.trim() === '' || isAdding}>
          Add label
        </button>
        <SelectField
          label="Split"
          value={split}
          onChange={(next) => void choose(next).catch(() => {})} // shown below
          options={[
            { value: noSplit, text: 'chosen by the training' },
            ...splits.map((one) => ({ value: one, text: `for ${splitTexts[one]}` })),
          ]}
        />
        {captureTags.length > 0 && (
          <p className="small soft">
            Tags of the capture, no labels: <UserText text={captureTags.join(', ')} />
          </p>
        )}
        {error && <FailureNote error={error} />}
      </form>
    </Card>
  );
}

function Predicted({
  labels,
  onRemove,
}: {
  labels: ReturnType<typeof useLabelEdits>['predicted'];
  onRemove: (label: string) => Promise<void>;
}) {
  return (
    <fieldset className="fields">
      <legend className="small soft">Predicted by a model</legend>
      <div className="row">
        {labels.map((one) => (
          <Removable
            key={one.id}
            text={one.label}
            shown={withConfidence(one)}
            name={`Remove the predicted label ${isolateText(one.label)}`}
            onRemove={onRemove}
          />
        ))}
      </div>
    </fieldset>
  );
}

interface RemovableProps {
  text: string;
  /** Replaces the text. */
  shown?: string;
  name: string;
  onRemove: (text: string) => Promise<void>;
}
function Removable({ text, shown = text, name, onRemove }: RemovableProps) {
  return (
    <span className="choice">
      <UserText text={shown} />
      <button
        type="button"
        className="button button-quiet button-small button-icon"
        aria-label={name}
        onClick={() => void onRemove(text).catch(() => {})} // shown with the form
      >
        <CrossIcon />
      </button>
    </span>
  );
}
