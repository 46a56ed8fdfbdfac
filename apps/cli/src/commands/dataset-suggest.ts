import { type DoubtfulLabel, SuggestionService } from '@platform/contract/gen/platform/suggestions/v1/suggestions_pb';
import type { Command } from 'commander';
import { findDataset } from '../find/dataset.ts';
import { counted, printable } from '../output.ts';
import type { CommandWorld, Run } from '../run.ts';
import { printWarnings, watchJob } from './train-watch.ts';

interface SuggestFlags {
  readonly modelName: string;
  readonly modelVersion: string;
  readonly unlabeled?: boolean;
  readonly wait?: boolean;
}

export function suggestionCommands(dataset: Command, run: Run): void {
  dataset
    .command('suggest <dataset>')
    .description('suggest labels or boxes predicted by a model; users accept or reject them while labelling')
    .requiredOption('--model-name <name>', 'a model of a built-in trainer (required)')
    .option('--model-version <version>', 'its version', 'latest')
    .option('--unlabeled', 'only images without a label; a label review also needs the others')
    .option('--wait', 'wait until the job ends and show its progress; Ctrl-C leaves the job running')
    .action(run(suggest));
  dataset
    .command('review <dataset>')
    .description('list labels that disagree with the latest suggestions, and near copies')
    .action(run(review));
}

async function suggest(world: CommandWorld, name: string, flags: SuggestFlags): Promise<void> {
  const { connection, output } = world;
  const open = await connection();
  const { id: datasetId } = await findDataset(open, name);
  const { modelName, modelVersion } = flags;
  const { jobId } = await open.rpc(SuggestionService).startPrediction({
    organizationId: await open.organizationId(),
    datasetId,
    modelName,
    modelVersion,
    unlabeledOnly: flags.unlabeled === true,
  });
  output.text(`Started a job with ID ${jobId}: ${printable(modelName)} makes suggestions for ${printable(name)}.`);
  await printWarnings(world, open, { id: jobId, printed: [] });
  if (flags.wait) return watchJob(world, open, jobId);
  output.json({ id: jobId, dataset_id: datasetId, model_name: modelName, model_version: modelVersion });
  output.text(`Follow it: platform train wait ${jobId}`);
}

const disagreement = ({ label, labelScore, predicted, predictedScore }: DoubtfulLabel): string => {
  const score = (share: number): string => `${Math.round(share * 100)} %`;
  if (label === '') return `lacks ${printable(predicted)} (${score(predictedScore)})`;
  if (predicted === '') return `${printable(label)}, which the model does not find (${score(labelScore)})`;
  return `${printable(label)} (${score(labelScore)}); the model says ${printable(predicted)} (${score(predictedScore)})`;
};

async function review({ connection, output }: CommandWorld, name: string): Promise<void> {
  const open = await connection();
  const { id: datasetId } = await findDataset(open, name);
  const { doubtful, nearCopies, truncated } = await open.rpc(SuggestionService).reviewLabels({ datasetId });
  output.json({
    doubtful: doubtful.map((one) => ({
      id: one.binaryDataId,
      file_name: one.fileName,
      label: one.label,
      label_score: one.labelScore,
      predicted: one.predicted,
      predicted_score: one.predictedScore,
    })),
    near_copies: nearCopies.map(({ images, labelsDiffer }) => ({
      labels_differ: labelsDiffer,
      images: images.map((one) => ({ id: one.binaryDataId, file_name: one.fileName, labels: one.labels })),
    })),
    truncated,
  });
  for (const one of doubtful) output.text(`${printable(one.fileName || one.binaryDataId)}: ${disagreement(one)}`);
  const differing = nearCopies.filter(({ labelsDiffer }) => labelsDiffer);
  for (const { images } of differing) {
    const all = images.map((one) => `${one.fileName || one.binaryDataId} (${one.labels.join(', ') || 'no label'})`);
    output.text(`Near copies with different labels: ${all.map(printable).join('; ')}`);
  }
  const groups = counted(nearCopies.length, 'group');
  output.text(
    `${counted(doubtful.length, 'doubtful label')}; ${groups} of near copies, ${differing.length} with different labels.`,
  );
  if (doubtful.length === 0 && nearCopies.length === 0)
    output.note('A review needs suggestions for labeled images: platform dataset suggest --help');
  if (truncated) output.note('There are more; these are the strongest.');
}
