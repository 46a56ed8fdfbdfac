import type { CheckTrainingDataResponse } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { refusalOf, type SplitAnswer, splitMethod } from '@platform/contract/job/split-answer';
import { counted, type Output, printable, warningText } from '../output.ts';

export const labelsText = (labels: readonly string[]): string => `Labels: ${labels.map(printable).join(', ')}.`;

/** The answer with its wire names. */
export function splitJson(answer: CheckTrainingDataResponse): Record<string, unknown> {
  const { problem, advice } = answer;
  return {
    train_images: answer.trainImages,
    validation_images: answer.validationImages,
    test_images: answer.testImages,
    groups: answer.groups,
    ungrouped_images: answer.ungroupedImages,
    problem: problem ? { code: problem.code, message: problem.message } : null,
    advice,
  };
}

/** Prints how a submit would split the dataset, the warnings, and whether the server would refuse it. */
export function printSplit(
  output: Pick<Output, 'text' | 'sentence' | 'table'>,
  answer: SplitAnswer,
  labels: readonly string[],
): void {
  const refusal = refusalOf(answer);
  if (!refusal) {
    // The counts of a split that is not used would only mislead.
    output.table(['split', 'images'], splitRows(answer));
    output.text('');
  }
  if (labels.length > 0) output.sentence(labelsText(labels));
  output.sentence(splitMethod(answer, counted));
  for (const warning of answer.advice) {
    output.text('');
    output.sentence(warningText(warning));
  }
  output.text('');
  if (refusal) {
    output.text('The server would refuse a submit:');
    return output.sentence([refusal.code, refusal.reason].filter(Boolean).join(': '));
  }
  const { length } = answer.advice;
  output.text(`The server would accept a submit${length > 0 ? `, with ${counted(length, 'warning')}` : ''}.`);
}

const splitRows = ({ trainImages, validationImages, testImages }: SplitAnswer): string[][] => [
  ['training', String(trainImages)],
  // Without validation images in the dataset, the trainer takes some of the training images.
  ['validation', validationImages > 0 ? String(validationImages) : 'some of the training images'],
  ['test', String(testImages)],
];
