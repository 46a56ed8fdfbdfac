import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { JobKind, JobSpec } from '@platform/contract/job/job';
import { builtInKinds, modelKinds } from '@platform/contract/job/model-kinds';
import type { JobFolder } from '../job/folder.ts';

/** Programs of the built-in trainers by kind; of kind `predict`, the program that makes suggestions. */
export type Trainers = Readonly<Partial<Record<JobKind, string>>>;

/** Root folder of this program and its packages: a checkout, or a copy of one in a container image. */
export const checkoutFolder = fileURLToPath(new URL('../../../../', import.meta.url));
/** The parts that a trainer needs. The sandbox shows nothing else of a checkout: it may contain data and keys. */
export const installationFolders = ['package.json', 'node_modules', 'packages', 'trainers'] as const;

const trainer = (name: string): string => path.join(checkoutFolder, 'trainers', name, 'src', 'main.ts');
/** Loads the libraries of the trainers and exits. */
export const trainerProbe = path.join(checkoutFolder, 'trainers', 'engine', 'src', 'self-check.ts');

export const builtInTrainers: Trainers = {
  ...Object.fromEntries(builtInKinds.map((kind) => [kind, trainer(modelKinds[kind].trainer)])),
  predict: trainer('prediction'),
};

/** Program and arguments: the flags of user scripts, plus the files of built-in trainers. */
export function trainerCommand(program: string, spec: JobSpec, folder: Pick<JobFolder, 'file'>): string[] {
  return [
    process.execPath,
    program,
    `--dataset_file=${folder.file('dataset')}`,
    `--model_output_directory=${folder.file('out')}`,
    `--job_file=${folder.file('job')}`,
    `--events_file=${folder.file('events')}`,
    ...Object.entries(spec.arguments).map(([key, value]) => `--${key}=${value}`),
  ];
}
