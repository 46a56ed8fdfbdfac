// How a submit would split a dataset, in words for users: the web app and the command line show the same.
import type { CheckTrainingDataResponse } from '../gen/platform/app/mltraining/v1/ml_training_pb.ts';

/** How a submit would split a dataset. */
export type SplitAnswer = Pick<
  CheckTrainingDataResponse,
  'trainImages' | 'validationImages' | 'testImages' | 'groups' | 'ungroupedImages' | 'advice'
> & { problem?: { message: string } | undefined };

/** @param counted - formats a number and its noun, such as "1 image" or "12 groups". */
export function splitMethod(
  { groups, ungroupedImages }: Pick<SplitAnswer, 'groups' | 'ungroupedImages'>,
  counted: (count: number, one: string) => string,
): string {
  return groups === 0
    ? 'By image: one object may be in training and test. Tag the images of an object group:NAME to keep them together.'
    : `By group: images of one group: tag stay together. ${counted(groups, 'group')}, ${counted(ungroupedImages, 'image')} without a group.`;
}

/** Why the server would refuse the training; undefined if it would not. */
export function refusalOf({ problem }: Pick<SplitAnswer, 'problem'>): { code: string; reason: string } | undefined {
  if (!problem) return undefined;
  const [, code = '', reason = ''] = /^(?:([A-Z][A-Z0-9_]+): )?(.*)$/s.exec(problem.message) ?? [];
  return { code, reason };
}
