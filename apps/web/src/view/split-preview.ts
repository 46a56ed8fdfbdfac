import type { CheckTrainingDataResponse } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { formatCount, formatGrouped } from './quantities.ts';

/** How a submit would split a dataset. */
export type SplitAnswer = Pick<
  CheckTrainingDataResponse,
  'trainImages' | 'validationImages' | 'testImages' | 'groups' | 'ungroupedImages' | 'advice'
> & { problem?: { message: string } | undefined };

export interface SplitPreview {
  /** By what the images are split, and into which numbers. */
  lines: readonly string[];
  /** Why the server would refuse the training. */
  problem: string | undefined;
  warnings: readonly string[];
}

export function previewSplit(answer: SplitAnswer): SplitPreview {
  const { groups, ungroupedImages, problem, advice } = answer;
  const split =
    groups === 0
      ? 'By image: one object may be in training and test. Tag the images of an object group:NAME to keep them together.'
      : `By group: images of one group: tag stay together. ${formatCount(groups, 'group')}, ${formatCount(ungroupedImages, 'image')} without a group.`;
  return {
    lines: problem ? [split] : [split, countsOf(answer)],
    // The code before it is for programs.
    problem: problem?.message.replace(/^[A-Z_]+: /, ''),
    warnings: advice,
  };
}

/** Without validation images in the dataset, the trainer takes some of the training images. */
function countsOf({ trainImages, validationImages, testImages }: SplitAnswer): string {
  const validation =
    validationImages > 0 ? `${formatGrouped(validationImages)} for validation` : 'validation from these';
  return `${formatCount(trainImages, 'image')} for training, ${validation}, ${formatGrouped(testImages)} for the test.`;
}
