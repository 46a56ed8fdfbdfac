import { create } from '@bufbuild/protobuf';
import type { Transport } from '@connectrpc/connect';
import { callUnaryMethod, useTransport } from '@connectrpc/connect-query';
import {
  BinaryDataByFilterRequestSchema,
  DataService,
  TagsFilterType,
} from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { useMutation } from '@tanstack/react-query';
import { FailureNote, Note } from '../../ui/messages.tsx';
import { alikeGroups, visibleLabel } from './alike-labels.ts';
import type { AlikeLabels as Group } from './alike-labels.ts';
import '../../ui/style/training.css';

interface Dataset {
  organizationIds: string[];
  datasetId: string;
}

/** Gives each image the label to keep before it loses the other one, so that an interrupted merge can be repeated. */
async function mergeTags(transport: Transport, base: Dataset, { keep, others }: Group): Promise<void> {
  const { addTagsToBinaryDataByFilter, removeTagsFromBinaryDataByFilter } = DataService.method;
  const tags = [...others];
  const filter = { ...base, tagsFilter: { type: TagsFilterType.MATCH_BY_OR, tags, labelsOnly: true } };
  await callUnaryMethod(transport, addTagsToBinaryDataByFilter, { filter, tags: [keep] });
  await callUnaryMethod(transport, removeTagsFromBinaryDataByFilter, { filter, tags, includeClassifications: true });
}

/** Renames the boxes; each page has those that are left. */
async function mergeBoxes(transport: Transport, base: Dataset, { keep, others }: Group): Promise<void> {
  const { binaryDataByFilter, updateBoundingBox } = DataService.method;
  const dataRequest = { filter: { ...base, bboxLabels: [...others] }, limit: 100n };
  const request = create(BinaryDataByFilterRequestSchema, { dataRequest });
  for (;;) {
    const { data } = await callUnaryMethod(transport, binaryDataByFilter, request);
    if (data.length === 0) return;
    for (const { metadata } of data)
      for (const box of metadata?.annotations?.bboxes ?? [])
        if (others.includes(box.label))
          await callUnaryMethod(transport, updateBoundingBox, {
            binaryDataId: metadata?.binaryDataId ?? '',
            bboxId: box.id,
            label: keep,
            expected: box,
          });
  }
}

interface AlikeLabelsProps {
  organizationId: string;
  datasetId: string;
  /** Labels of images and of boxes. */
  labels: readonly { label: string; images: number }[];
  onMerged: () => void;
}
/** Warns of labels that look alike: each is a class of its own for a training. */
export function AlikeLabels({ organizationId, datasetId, labels, onMerged }: AlikeLabelsProps) {
  const transport = useTransport();
  const merge = useMutation({
    mutationFn: async (group: Group) => {
      const base = { organizationIds: [organizationId], datasetId };
      await mergeTags(transport, base, group);
      await mergeBoxes(transport, base, group);
    },
    onSettled: onMerged,
  });
  return (
    <>
      {merge.error && <FailureNote error={merge.error} />}
      {alikeGroups(labels).map((group) => (
        <Note
          key={group.keep}
          tone="warn"
          action={
            <button
              type="button"
              className="button button-small"
              disabled={merge.isPending}
              onClick={() => merge.mutate(group)}
            >
              {merge.isPending ? 'Merging …' : `Merge into ${visibleLabel(group.keep)}`}
            </button>
          }
        >
          <p>
            These labels look alike, and a model learns each as a class of its own:{' '}
            {[group.keep, ...group.others].map((label) => `“${visibleLabel(label)}”`).join(', ')}.
          </p>
        </Note>
      ))}
    </>
  );
}
