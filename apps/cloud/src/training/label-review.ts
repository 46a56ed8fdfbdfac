/** What of a dataset's labels a user should look at again. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { ReviewLabelsResponseSchema } from '@platform/contract/gen/platform/suggestions/v1/suggestions_pb';
import { labelsOf } from '../data/rules/dataset-rules.ts';
import { binaryDataId } from '../data/rules/manifest.ts';
import type { DatasetKey } from '../data/store/dataset-members.ts';
import type { Database } from '../database/database.ts';
import { type Doubt, doubtsOf, strengthOf } from './rules/doubtful-labels.ts';
import { type PredictedImage, predictedImages } from './store/predictions.ts';
import { boxMessage } from './suggested-box.ts';

const mostDoubtful = 500;
const mostGroups = 500;
const mostCopies = 20;

type Named = { binaryDataId: string; fileName: string };
type Copy = Named & { labels: string[] };

export async function reviewLabels(
  db: Database,
  dataset: DatasetKey,
): Promise<MessageInitShape<typeof ReviewLabelsResponseSchema>> {
  let doubtful: (Doubt & Named)[] = [];
  const groups = new Map<string, Copy[]>();
  let isCut = false;
  for await (const page of predictedImages(db, dataset)) {
    for (const image of page) {
      const labels = labelsOf(image);
      const named = namedImage(dataset, image);
      doubtful.push(...doubtsOf({ ...image, labels }).map((doubt) => ({ ...doubt, ...named })));
      if (image.copyGroup !== null) addTo(groups, `${image.jobId} ${image.copyGroup}`, copyOf(image, labels, named));
    }
    // Only the strongest stay in memory.
    isCut ||= doubtful.length > mostDoubtful;
    doubtful = doubtful.toSorted((a, b) => strengthOf(b) - strengthOf(a)).slice(0, mostDoubtful);
  }
  const copies = [...groups.values()]
    .filter(({ length }) => length > 1)
    .map((images) => ({ images, labelsDiffer: new Set(images.map(({ labels }) => labels.join('\0'))).size > 1 }))
    .toSorted((a, b) => Number(b.labelsDiffer) - Number(a.labelsDiffer));
  return {
    doubtful: doubtful.map(({ box, ...one }) => ({ ...one, ...(box && { box: boxMessage(box) }) })),
    nearCopies: copies.slice(0, mostGroups).map(({ images, labelsDiffer }) => ({
      images: images.slice(0, mostCopies),
      labelsDiffer,
    })),
    truncated: isCut || copies.length > mostGroups,
  };
}

const namedImage = ({ orgId }: DatasetKey, { locationId, binaryId: id, fileName }: PredictedImage): Named => ({
  binaryDataId: binaryDataId({ orgId, locationId, id }),
  fileName,
});

/** Labels of the image, then those of its boxes. */
const copyOf = ({ boxes }: PredictedImage, labels: readonly string[], named: Named): Copy => ({
  ...named,
  labels: [...new Set([...labels, ...boxes.map(({ label }) => label).toSorted()])],
});

function addTo<T>(groups: Map<string, T[]>, key: string, item: T): void {
  const known = groups.get(key);
  if (known) known.push(item);
  else groups.set(key, [item]);
}
