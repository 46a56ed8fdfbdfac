import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { JobKind, JobSpec } from '@platform/contract/job';
import { builtInKinds, modelKinds } from '@platform/contract/model-kinds';
import type { JobFolder } from '../job/folder.ts';

/** Programs of the built-in trainers by kind. */
export type Trainers = Readonly<Partial<Record<JobKind, string>>>;

/** Where this program and its packages lie: a checkout, or a copy of one in an image. */
export const checkoutFolder = fileURLToPath(new URL('../../../../', import.meta.url));
/** What a trainer needs of it. Nothing else of a checkout is shown to one: data and keys may lie beside. */
export const installationFolders = ['package.json', 'node_modules', 'packages', 'trainers'] as const;

const trainer = (name: string): string => path.join(checkoutFolder, 'trainers', name, 'src', 'main.ts');
/** Loads what trainers load, and ends. */
export const trainerProbe = path.join(checkoutFolder, 'trainers', 'engine', 'src', 'self-check.ts');

export const builtInTrainers: Trainers = Object.fromEntries(
  builtInKinds.map((kind) => [kind, trainer(modelKinds[kind].trainer)]),
);

/** Program and arguments; the flags are those that scripts of users get, plus the files of built-in trainers. */
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
