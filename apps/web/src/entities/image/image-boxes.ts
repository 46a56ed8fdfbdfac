import type { BinaryMetadata } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import type { Box } from './boxes.ts';

/** The boxes of an image, as pages show them. */
export const boxesOf = (metadata: BinaryMetadata): Box[] =>
  (metadata.annotations?.bboxes ?? []).map((box) => ({
    id: box.id,
    label: box.label,
    xMin: box.xMinNormalized,
    yMin: box.yMinNormalized,
    xMax: box.xMaxNormalized,
    yMax: box.yMaxNormalized,
    ...(box.confidence !== undefined && { confidence: box.confidence }),
  }));

/** As requests carry it. */
export const wireBox = ({ label, xMin, yMin, xMax, yMax, confidence }: Box) => ({
  label,
  ...(confidence !== undefined && { confidence }),
  xMinNormalized: xMin,
  yMinNormalized: yMin,
  xMaxNormalized: xMax,
  yMaxNormalized: yMax,
});
