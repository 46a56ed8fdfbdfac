import { fileURLToPath } from 'node:url';
import type { JobKind, JobSpec } from '@platform/contract/job';
import type { JobFolder } from '../job/folder.ts';

/** Programs of the built-in trainers by kind. */
export type Trainers = Readonly<Partial<Record<JobKind, string>>>;

const trainer = (name: string): string =>
  fileURLToPath(new URL(`../../../../trainers/${name}/src/main.ts`, import.meta.url));
const classification = trainer('classification');

export const builtInTrainers: Trainers = {
  single_label_classification: classification,
  multi_label_classification: classification,
  object_detection: trainer('detection'),
};

/** Program and arguments; the flags are those that scripts of users get, plus the files of built-in trainers. */
export function trainerCommand(program: string, spec: JobSpec, folder: JobFolder): string[] {
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
