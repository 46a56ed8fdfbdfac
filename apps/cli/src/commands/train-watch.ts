import type { JsonObject } from '@bufbuild/protobuf';
import { type TrainingJobLogEntry, type TrainingJobMetadata, TrainingStatus } from '@platform/client';
import { crossValidationText } from '@platform/contract/job/cross-validation';
import { formatDuration, isAbort } from '@platform/kit';
import { systemClock } from '@platform/kit/node';
import type { Command } from 'commander';
import type { Connection } from '../connection.ts';
import { Ended, exitCodes } from '../exit-codes.ts';
import { findJob } from '../find/job.ts';
import { isoTime, printable } from '../output.ts';
import type { CommandWorld, Run } from '../run.ts';
import { wholeNumber } from '../values.ts';
import { adviceOf, perClassTable } from '../views/evaluation.ts';
import { jobJson, runSeconds, scoreText } from '../views/job.ts';
import { progressScreen } from '../views/progress.ts';

export function watchCommands(train: Command, run: Run): void {
  train
    .command('wait <job>')
    .description('show the progress of a job until its end; Ctrl-C leaves it running')
    .action(
      run(async (world: CommandWorld, name: string) => {
        const open = await world.connection();
        await watchJob(world, open, (await findJob(open, name)).id);
      }),
    );

  train
    .command('logs <job>')
    .description('print log lines of a job, oldest first; --json: one object per line')
    .option('-f, --follow', 'print new lines until the job ends or Ctrl-C')
    .option('-n, --lines <n>', 'only the newest lines')
    .action(
      run(async (world: CommandWorld, name: string, flags: { follow?: boolean; lines?: string }) => {
        const open = await world.connection();
        const last = flags.lines === undefined ? Number.POSITIVE_INFINITY : wholeNumber('--lines', flags.lines);
        const { id } = await findJob(open, name);
        await printLogs(world, open, { id, last, isFollowed: flags.follow === true });
      }),
    );
}

const logJson = (entry: TrainingJobLogEntry): Record<string, string> => ({
  time: isoTime(entry.time),
  level: entry.level,
  message: entry.message,
});
const logText = (entry: TrainingJobLogEntry): string =>
  `${isoTime(entry.time)} ${entry.level.toUpperCase().padEnd(5)} ${entry.message.split('\n').map(printable).join('\n    ')}`;

async function printLogs(
  { output, signal }: CommandWorld,
  open: Connection,
  { id, last, isFollowed }: { id: string; last: number; isFollowed: boolean },
): Promise<void> {
  const training = open.client.mlTrainingClient;
  const print = (entry: TrainingJobLogEntry): void => {
    output.json(logJson(entry));
    output.text(logText(entry));
  };
  // The number of existing lines determines where the last `last` lines start.
  const there = Number.isFinite(last) || !isFollowed ? await training.getTrainingJobLogs(id) : [];
  const begin = Number.isFinite(last) ? Math.max(0, there.length - last) : 0;
  if (!isFollowed) {
    for (const entry of there.slice(begin)) print(entry);
    if (there.length === 0) output.note('This job has no log lines (they are kept for 7 days).');
    return;
  }
  try {
    let at = 0;
    for await (const entry of training.followTrainingJobLogs(id, { signal })) if (at++ >= begin) print(entry);
  } catch (error) {
    if (!signal.aborted && !isAbort(error)) throw error;
  }
}

/**
 * Prints the server's warnings about the dataset of a submitted job.
 *
 * @param printed - warnings that users have seen already.
 */
export async function printWarnings(
  { output }: Pick<CommandWorld, 'output'>,
  open: Connection,
  { id, printed }: { id: string; printed: readonly string[] },
): Promise<void> {
  // The job is submitted already: its log must not make the command fail.
  const entries = await open.client.mlTrainingClient.getTrainingJobLogs(id).catch(() => []);
  for (const { level, message } of entries) if (level === 'warn' && !printed.includes(message)) output.warn(message);
}

/**
 * Shows the progress until the job ends, then its result.
 *
 * @throws Ended with its own exit code when the job failed or was canceled, or when waiting was interrupted.
 */
export async function watchJob({ output, signal }: CommandWorld, open: Connection, id: string): Promise<void> {
  const screen = progressScreen(process.stderr);
  let job: TrainingJobMetadata;
  try {
    job = await open.client.mlTrainingClient.waitForTrainingJob(id, {
      signal,
      everyMs: 500,
      onProgress: (now) => screen.show(now),
    });
  } catch (error) {
    if (!signal.aborted) throw error;
    screen.close();
    throw new Ended(
      exitCodes.stopped,
      `The job goes on.\n  follow it: platform train wait ${id}\n  cancel it: platform train cancel ${id}`,
    );
  } finally {
    screen.close();
  }
  output.json({ ...jobJson(job), evaluation: job.evaluation ?? null });
  const name = printable(`${job.modelName}/${job.modelVersion}`);
  const took = runSeconds(job, systemClock.wall());
  const isPrediction = job.kind === 'predict';
  if (job.status === TrainingStatus.FAILED) {
    const why = job.errorStatus?.message.split('\n').map(printable).join('\n') ?? 'no reason given';
    throw new Ended(
      exitCodes.jobFailed,
      `${isPrediction ? `The prediction of ${name}` : name} failed (${job.cause || 'unknown cause'}): ${why}\nIts log: platform train logs ${id}`,
    );
  }
  if (job.status === TrainingStatus.CANCELED)
    throw new Ended(exitCodes.jobCanceled, `${isPrediction ? `The prediction of ${name}` : name} was canceled.`);
  if (isPrediction) return output.text(suggestionsText(job.evaluation));
  output.text(
    [`Completed ${name}`, scoreText(job), took === undefined ? '' : formatDuration(took)].filter(Boolean).join(', '),
  );
  printEvaluation({ output }, job);
  output.text(`Download it: platform model download ${job.modelName} --version ${printable(job.modelVersion)}`);
}

/** The counts that the job reported of its suggestions. */
function suggestionsText(counts: JsonObject | undefined): string {
  const count = (name: string): number => Number(counts?.[name] ?? 0);
  const images = `${count('suggested_images')} of ${count('images')} images`;
  return `${count('suggestions')} suggestions for ${images}. Accept or reject them on the page of the dataset.`;
}

/** Prints the trainer's metrics per label and its suggestions, if it wrote any. */
export function printEvaluation({ output }: Pick<CommandWorld, 'output'>, job: TrainingJobMetadata): void {
  const perClass = perClassTable(job.evaluation);
  if (perClass) {
    output.text('');
    output.table(perClass.header, perClass.rows);
  }
  const crossValidation = crossValidationText(job.evaluation);
  if (crossValidation !== undefined) output.text(`\n${crossValidation}`);
  const advice = adviceOf(job.evaluation);
  if (advice.length > 0) output.text(`\n${advice.map((one) => `- ${printable(one)}`).join('\n')}`);
  if (perClass || crossValidation !== undefined || advice.length > 0) output.text('');
}
