import type { JobResources, ModelFramework } from '@platform/client';
import { PlatformError } from '@platform/contract/errors/errors';
import { systemClock } from '@platform/kit/node';
import type { Command } from 'commander';
import { choiceOption } from '../choices.ts';
import type { Connection } from '../connection.ts';
import { findDataset } from '../find/dataset.ts';
import { findScript } from '../find/registry.ts';
import { printable } from '../output.ts';
import type { CommandWorld, Run } from '../run.ts';
import { collect, collectList, keyValues, seconds, timeVersion, wholeNumber } from '../values.ts';
import { recipeWords, trainedFrameworks } from './model-words.ts';
import { datasetFlag, findTrainingData, labelFlags, type TrainingDataFlags, warnOfSplit } from './train-check.ts';
import { scriptFlags, uploadScript, type ScriptFlags } from './training-script-upload.ts';
import { labelsText } from '../views/split.ts';
import { printWarnings, watchJob } from './train-watch.ts';

interface JobFlags {
  readonly dataset: string;
  readonly modelName: string;
  readonly modelVersion?: string;
  readonly arg?: string[];
  readonly args?: string[];
  readonly gpus?: string;
  readonly timeLimit?: string;
  readonly memoryMib?: string;
  readonly diskMib?: string;
  readonly wait?: boolean;
}
interface ManagedFlags extends JobFlags, TrainingDataFlags {
  readonly framework?: ModelFramework;
  readonly recipe?: string;
  readonly epochs?: string;
  readonly side?: string;
}
interface CustomFlags extends JobFlags, ScriptFlags {
  readonly script: string;
  readonly scriptVersion: string;
  readonly container?: string;
  readonly upload?: string;
}

/** Options that all jobs share. */
const jobFlags = (command: Command): Command =>
  datasetFlag(command)
    .requiredOption('--model-name <name>', 'name of the model that gets a new version (required)')
    .option('--model-version <version>', 'version of the model; default: the time, such as 2026-03-01T12-00-05')
    .option('--wait', 'wait until the job ends and show its progress; Ctrl-C leaves the job running');

const limitFlags = (command: Command): Command =>
  command
    .optionsGroup('What the job may use:')
    .option('--gpus <n>', 'number of GPUs that the job needs')
    .option('--time-limit <time>', 'time limit of one attempt, such as 90s, 30m, 2h')
    .option('--memory-mib <n>', 'memory limit in MiB')
    .option('--disk-mib <n>', 'disk limit in MiB')
    .optionsGroup('Other:');

const submitExample = `
Example:
  platform train submit --dataset parts --model-name parts --model-type single-label --wait`;
const customExample = `
Example:
  platform train submit-custom --dataset parts --model-name parts-2 --script my-script \\
      --arg epochs=20 --wait`;

export function submitCommands(train: Command, run: Run): void {
  submitCommand(train, run);
  submitCustomCommand(train, run);
}

function submitCommand(train: Command, run: Run): void {
  const managed = labelFlags(jobFlags(train.command('submit')))
    .description('train a built-in model type on a dataset')
    .addOption(
      choiceOption(
        '--model-framework, --framework <name>',
        'tflite comes with ONNX; default: of the server',
        trainedFrameworks,
      ),
    )
    .addOption(
      choiceOption(
        '--recipe <name>',
        'accurate: a second network, for objects never seen; probe: a first model within seconds',
        recipeWords,
      ),
    )
    .option('--epochs <n>', 'maximum number of epochs')
    .option('--side <px>', 'width and height of the input of the network, in pixels')
    .option('--arg <key=value>', 'another setting of the trainer (repeatable)', collect);
  limitFlags(managed).addHelpText('after', submitExample).action(run(submitManaged));
}

async function submitManaged(world: CommandWorld, flags: ManagedFlags): Promise<void> {
  const open = await world.connection();
  const { recipe, epochs, side } = flags;
  const framework = flags.framework === undefined ? {} : { modelFramework: flags.framework };
  const settings = Object.entries({ recipe, epochs, side }).filter(
    (pair): pair is [string, string] => pair[1] !== undefined,
  );
  const options = {
    arguments: { ...Object.fromEntries(settings), ...keyValues('--arg', flags.arg ?? []) },
    resources: resourcesOf(flags),
    ...framework,
  };
  const { areLabelsNamed, ...data } = await findTrainingData(open, flags);
  const { organizationId, datasetId, modelType, tags } = data;
  const warnings = await warnOfSplit(world, open, data);
  const modelVersion = flags.modelVersion ?? timeVersion(systemClock.wall());
  const id = await open.client.mlTrainingClient.submitTrainingJob(
    organizationId,
    datasetId,
    flags.modelName,
    modelVersion,
    modelType,
    tags,
    options,
  );
  const about = areLabelsNamed ? '' : labelsText(tags);
  await submitted(world, open, flags, { id, modelVersion, tags, about, warnings });
}

function submitCustomCommand(train: Command, run: Run): void {
  const custom = jobFlags(train.command('submit-custom'))
    .description('run a training script of the registry on a dataset')
    .requiredOption('--script-name, --script <name>', 'the script: its name, or <namespace>:<name> (required)')
    .option('--version, --script-version <version>', 'version of the script', 'latest')
    .option('--upload <folder>', 'first upload this folder as a new version of the script, then run that version')
    .option('--container-version, --container <key>', 'environment; list them with: platform train containers')
    .option('--arg <key=value>', 'argument for the script, passed as --key=value (repeatable)', collect)
    .option('--args <a=1,b=2>', 'several arguments at once', collectList);
  limitFlags(scriptFlags(custom.optionsGroup('With --upload:')))
    .addHelpText('after', customExample)
    .action(run(submitCustom));
}

async function submitCustom(world: CommandWorld, flags: CustomFlags): Promise<void> {
  const open = await world.connection();
  const args = keyValues('--arg', [...(flags.args ?? []), ...(flags.arg ?? [])]);
  const resources = resourcesOf(flags);
  if (flags.upload !== undefined && flags.script === flags.modelName) {
    throw new PlatformError('INVALID_ARGUMENT', {
      field: '--model-name',
      value: flags.modelName,
      limit: 'another name than the script',
    });
  }
  const dataset = await findDataset(open, flags.dataset);
  const script =
    flags.upload === undefined
      ? { itemId: (await findScript(open, flags.script)).itemId, version: flags.scriptVersion }
      : await uploadScript(world, open, { ...flags, name: flags.script, folder: flags.upload, draft: true });
  const modelVersion = flags.modelVersion ?? timeVersion(systemClock.wall());
  const id = await open.client.mlTrainingClient.submitCustomTrainingJob(
    await open.organizationId(),
    dataset.id,
    script.itemId,
    script.version,
    flags.modelName,
    modelVersion,
    args,
    { resources, ...(flags.container !== undefined && { containerVersion: flags.container }) },
  );
  await submitted(world, open, flags, { id, modelVersion, tags: [], about: '', warnings: [] });
}

async function submitted(
  world: CommandWorld,
  open: Connection,
  flags: JobFlags,
  job: { id: string; modelVersion: string; tags: readonly string[]; about: string; warnings: readonly string[] },
): Promise<void> {
  const name = `${flags.modelName}/${job.modelVersion}`;
  world.output.text(
    `Submitted ${printable(name)} as a training job with ID ${job.id}.${job.about && `\n${job.about}`}`,
  );
  await printWarnings(world, open, { id: job.id, printed: job.warnings });
  if (flags.wait) return watchJob(world, open, job.id);
  world.output.json({ id: job.id, model_name: flags.modelName, model_version: job.modelVersion, tags: job.tags });
  world.output.text(`Follow it: platform train wait ${job.id}`);
}

function resourcesOf({ gpus, timeLimit, memoryMib, diskMib }: JobFlags): JobResources {
  const most = 2 ** 31;
  return {
    ...(gpus !== undefined && { gpus: wholeNumber('--gpus', gpus, { max: 16 }) }),
    ...(memoryMib !== undefined && { memoryMib: wholeNumber('--memory-mib', memoryMib, { min: 1, max: most }) }),
    ...(diskMib !== undefined && { diskMib: wholeNumber('--disk-mib', diskMib, { min: 1, max: most }) }),
    ...(timeLimit !== undefined && { timeLimitSeconds: seconds('--time-limit', timeLimit) }),
  };
}
