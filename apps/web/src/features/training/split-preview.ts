import { refusalOf, type SplitAnswer, splitMethod } from '@platform/contract/job/split-answer';
import { formatCount, formatGrouped } from '../../ui/quantities.ts';

export interface SplitPreview {
  /** By what the images are split, and into which numbers. */
  lines: readonly string[];
  /** Why the server would refuse the training. */
  problem: string | undefined;
  warnings: readonly string[];
}

export function previewSplit(answer: SplitAnswer): SplitPreview {
  const split = splitMethod(answer, formatCount);
  const problem = refusalOf(answer)?.reason;
  return {
    lines: problem === undefined ? [split, countsOf(answer)] : [split],
    problem,
    warnings: answer.advice,
  };
}

/** Without validation images in the dataset, the trainer takes some of the training images. */
function countsOf({ trainImages, validationImages, testImages }: SplitAnswer): string {
  const validation =
    validationImages > 0 ? `${formatGrouped(validationImages)} for validation` : 'validation from these';
  return `${formatCount(trainImages, 'image')} for training, ${validation}, ${formatGrouped(testImages)} for the test.`;
}
