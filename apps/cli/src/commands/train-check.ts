import type { ModelType } from '@platform/client';
import { MLTrainingService } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import type { Command } from 'commander';
import { choiceOption } from '../choices.ts';
import type { Connection } from '../connection.ts';
import { exitCodes } from '../exit-codes.ts';
import { findDataset } from '../find/dataset.ts';
import { labelsOf } from '../find/labels.ts';
import type { CommandWorld, Run } from '../run.ts';
import { collect, collectList } from '../values.ts';
import { printSplit, splitJson } from '../views/split.ts';
import { modelTypes } from './model-words.ts';

/** Options of the images and labels that a built-in model type trains on. */
export interface TrainingDataFlags {
  readonly dataset: string;
  readonly modelType: ModelType;
  readonly labels?: string[];
  readonly label?: string[];
}

export const datasetFlag = (command: Command): Command =>
  command.requiredOption('--dataset-id, --dataset <name or id>', 'dataset to train on (required)');

export const labelFlags = (command: Command): Command =>
  command
    .addOption(choiceOption('--model-type <type>', 'type of the model (required)', modelTypes).makeOptionMandatory())
    .option('--model-labels, --labels <a,b,…>', 'labels to learn; default: all labels of the dataset', collectList)
    .option('--label <label>', 'a label to learn, for labels that contain a comma (repeatable)', collect);

interface TrainingData {
  readonly organizationId: string;
  readonly datasetId: string;
  readonly modelType: ModelType;
  /** Labels to learn. */
  readonly tags: string[];
}

export async function findTrainingData(
  open: Connection,
  { dataset, modelType, labels = [], label = [] }: TrainingDataFlags,
): Promise<TrainingData & { areLabelsNamed: boolean }> {
  const { id: datasetId } = await findDataset(open, dataset);
  const named = [...labels, ...label];
  const areLabelsNamed = named.length > 0;
  const tags = areLabelsNamed ? named : await labelsOf(open, datasetId, modelType);
  return { organizationId: await open.organizationId(), datasetId, modelType, tags, areLabelsNamed };
}

const checkHelp = `
Submits nothing. Ends with 1 if the server would refuse the training.

Example:
  platform train check --dataset parts --model-type single-label`;

export function checkCommand(train: Command, run: Run): void {
  labelFlags(datasetFlag(train.command('check')))
    .description('check how a submit would split a dataset, and whether the server would accept it')
    .addHelpText('after', checkHelp)
    .action(run(checkData));
}

async function checkData({ connection, output, signal }: CommandWorld, flags: TrainingDataFlags): Promise<void> {
  const open = await connection();
  const { areLabelsNamed: _, ...data } = await findTrainingData(open, flags);
  const answer = await open.rpc(MLTrainingService).checkTrainingData(data, { signal });
  output.json({ dataset_id: data.datasetId, tags: data.tags, ...splitJson(answer) });
  printSplit(output, answer, data.tags);
  if (answer.problem) process.exitCode = exitCodes.failed;
}

/** On a busy server a submit of 100,000 images takes up to 12 s, and its check no longer. Larger ones need not wait. */
const checkTimeoutMs = 30_000;

/** Prints what the split means for the score. No error of the check ends a submit. @returns the warnings. */
export async function warnOfSplit(
  { output, signal }: CommandWorld,
  open: Connection,
  data: TrainingData,
): Promise<readonly string[]> {
  const call = open.rpc(MLTrainingService).checkTrainingData(data, { signal, timeoutMs: checkTimeoutMs });
  const { advice } = await call.catch(() => {
    // Ctrl-C during the check must not go on to the submit.
    signal.throwIfAborted();
    return { advice: [] };
  });
  for (const warning of advice) output.warn(warning);
  return advice;
}
