/** Runs a trainer's program on a dataset, and reads what users see of it. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { AnyEvaluation } from '@platform/contract/job/evaluation';
import { jobFiles, modelFiles } from '@platform/contract/job/job';
import type { DatasetLine, JobKind } from '@platform/contract/job/job';
import { readEvents, writeJobFolder } from './job-folder.ts';
import type { TestImage } from './job-folder.ts';
import { tempFolder } from './temp-folder.ts';
import { startTrainer } from './trainer-process.ts';

export interface JobResult<E extends AnyEvaluation> {
  code: number | null;
  stderr: string;
  /** Undefined if the job failed. */
  evaluation: E | undefined;
  card: string;
  /** Warnings and logged sentences. */
  log: string[];
}

export interface JobOptions {
  kind: JobKind;
  /** Default: the linear probe alone. */
  recipe?: string;
  lines?: (all: DatasetLine[]) => DatasetLine[];
}

/** @param main - the trainer's program. */
export async function runJob<E extends AnyEvaluation>(
  main: URL,
  images: AsyncIterable<TestImage>,
  { kind, recipe = 'probe', lines }: JobOptions,
): Promise<JobResult<E>> {
  await using folder = await tempFolder();
  const job = {
    kind,
    model_name: 'noise',
    arguments: { side: '96', recipe, ...(recipe === 'auto' && { epochs: '1' }) },
    seed: 3,
    limits: { wall_seconds: 600, memory_mib: 2048, disk_mib: 1024 },
  };
  await writeJobFolder(folder.path, job, images, lines);
  const { code, stderr } = await startTrainer(main, folder.path).ended;
  const read = (name: string): Promise<string> =>
    readFile(path.join(folder.path, jobFiles.out, name), 'utf8').catch(() => '');
  const [evaluation, card] = [await read(modelFiles.evaluation), await read(modelFiles.cardText)];
  const log = (await readEvents(folder.path)).flatMap((event) =>
    event.is === 'warning' || event.is === 'log' ? [event.message] : [],
  );
  return { code, stderr, evaluation: evaluation === '' ? undefined : (JSON.parse(evaluation) as E), card, log };
}

/** Model card, log and evaluation warn of the score: below it, and before it. */
export function assertWarned({ card, log, evaluation }: JobResult<AnyEvaluation>, warning: RegExp): void {
  const lines = card.split('\n').filter((line) => line.startsWith('> **Warning**'));
  const found = [lines, log.slice(0, -1), evaluation?.advice ?? []].map((some) =>
    some.some((one) => warning.test(one)),
  );
  assert.deepEqual(found, [true, true, true], `${warning.source} is not in: ${lines.join(' ')}`);
}
