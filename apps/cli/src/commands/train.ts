import { hasEnded, type TrainingJobMetadata, TrainingStatus } from '@platform/client';
import { PlatformError } from '@platform/contract/errors/errors';
import { MLTrainingService } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { systemClock } from '@platform/kit/node';
import type { Command } from 'commander';
import { choiceOption } from '../choices.ts';
import { confirmed } from '../confirm.ts';
import { findDataset } from '../find/dataset.ts';
import { findJob, findOnlyJob } from '../find/job.ts';
import { isoTime, listText, printable } from '../output.ts';
import type { CommandWorld, Run } from '../run.ts';
import { wholeNumber } from '../values.ts';
import { jobColumns, jobDetails, jobJson, jobRow, statusWord } from '../views/job.ts';
import { checkCommand } from './train-check.ts';
import { submitCommands } from './train-submit.ts';
import { printEvaluation, watchCommands } from './train-watch.ts';

const statuses = {
  all: TrainingStatus.UNSPECIFIED,
  unspecified: TrainingStatus.UNSPECIFIED,
  pending: TrainingStatus.PENDING,
  'in-progress': TrainingStatus.IN_PROGRESS,
  running: TrainingStatus.IN_PROGRESS,
  completed: TrainingStatus.COMPLETED,
  failed: TrainingStatus.FAILED,
  canceling: TrainingStatus.CANCELING,
  canceled: TrainingStatus.CANCELED,
} as const;

const jobArgument = 'A job is named by its ID (or 8 characters of its beginning), MODEL/VERSION, or MODEL.';

export function trainCommands(program: Command, run: Run): void {
  const train = program.command('train').description('training jobs').addHelpText('after', `\n${jobArgument}`);
  submitCommands(train, run);
  checkCommand(train, run);

  getCommand(train, run);
  listCommand(train, run);
  watchCommands(train, run);

  cancelCommand(train, run);
  deleteCommand(train, run);
  containersCommand(train, run);
}

function getCommand(train: Command, run: Run): void {
  train
    .command('get <job>')
    .description('show a job: state, score, metrics per label, origin')
    .action(
      run(async ({ connection, output }, name: string) => {
        const open = await connection();
        const job = await findJob(open, name);
        output.json({ ...jobJson(job), evaluation: job.evaluation ?? null });
        const dataset = await findDataset(open, job.datasetId).catch(() => undefined);
        const named = dataset ? `${dataset.name} (${dataset.id})` : `${job.datasetId} (deleted)`;
        output.text(listText(jobDetails(job, named, systemClock.wall())));
        printEvaluation({ output }, job);
      }),
    );
}

function listCommand(train: Command, run: Run): void {
  train
    .command('list')
    .description('list jobs, newest first')
    .addOption(
      choiceOption('--job-status, --status <status>', 'only jobs with this status', statuses).default(
        statuses.all,
        '"all"',
      ),
    )
    .option('-n, --limit <n>', 'number of jobs per page, at most 1000', '30')
    .option('--page-token <token>', 'token of the next page, as the previous page printed it')
    .option('--all', 'print all pages')
    .action(run(listJobs));
}

function cancelCommand(train: Command, run: Run): void {
  train
    .command('cancel <job>')
    .description('cancel a waiting or running job')
    .action(
      run(async ({ connection, output }, name: string) => {
        const open = await connection();
        const active = await findOnlyJob(open, name, (job) => !hasEnded(job));
        await open.client.mlTrainingClient.cancelTrainingJob(active.id);
        const job = await open.client.mlTrainingClient.getTrainingJob(active.id);
        output.json(jobJson(job));
        output.text(
          `Training job ${job.id} (${printable(`${job.modelName}/${job.modelVersion}`)}) is ${statusWord(job)}.`,
        );
      }),
    );
}

function deleteCommand(train: Command, run: Run): void {
  train
    .command('delete <job>')
    .description('delete an ended job with its log; its model stays')
    .option('-y, --yes', 'do not ask for confirmation')
    .action(
      run(async ({ connection, output }, name: string, flags: { yes?: boolean }) => {
        const open = await connection();
        const job = await findOnlyJob(open, name, hasEnded);
        const words = `${statusWord(job)} job ${printable(`${job.modelName}/${job.modelVersion}`)}`;
        if (!(await confirmed(`Delete the ${words} and its log?`, flags))) return;
        await open.client.mlTrainingClient.deleteCompletedTrainingJob(job.id);
        output.json({ id: job.id, deleted: true });
        output.text(`Deleted the ${words} with ID ${job.id}.`);
      }),
    );
}

function containersCommand(train: Command, run: Run): void {
  train
    .command('containers')
    .description('list the environments that runners offer for training scripts')
    .option('--include-uris', 'include the URI of each environment')
    .action(
      run(async ({ connection, output }, flags: { includeUris?: boolean }) => {
        const open = await connection();
        const offered = await open.client.mlTrainingClient.listSupportedContainers();
        const all = offered.toSorted((a, b) => a.key.localeCompare(b.key));
        output.json(
          all.map((one) => ({
            key: one.key,
            framework: one.framework,
            description: one.description,
            uri: one.uri,
            eol: isoTime(one.eol),
          })),
        );
        if (all.length === 0)
          return output.text('No runner offers an environment for scripts. See why: platform runner list');
        const uris = flags.includeUris === true;
        output.table(
          ['name', 'framework', 'end of life', 'description', ...(uris ? ['uri'] : [])],
          all.map((one) => [
            one.key,
            one.framework,
            isoTime(one.eol).slice(0, 10),
            one.description,
            ...(uris ? [one.uri] : []),
          ]),
        );
      }),
    );
}

interface ListFlags {
  readonly status: TrainingStatus;
  readonly limit: string;
  readonly pageToken?: string;
  readonly all?: boolean;
}

async function listJobs({ connection, output }: CommandWorld, flags: ListFlags): Promise<void> {
  const open = await connection();
  const { status } = flags;
  const pageSize = flags.all ? 1000 : wholeNumber('--limit', flags.limit, { min: 1, max: 1000 });
  if (flags.all && flags.pageToken !== undefined)
    throw new PlatformError('INVALID_ARGUMENT', { field: '--page-token', limit: 'not together with --all' });
  const organizationId = await open.organizationId();
  const training = open.rpc(MLTrainingService);
  const jobs: TrainingJobMetadata[] = [];
  let pageToken = flags.pageToken ?? '';
  do {
    const list = { organizationId, status, pageSize, pageToken, includePredictions: true };
    const page = await training.listTrainingJobs(list);
    jobs.push(...page.jobs);
    pageToken = page.nextPageToken;
  } while (flags.all && pageToken !== '');
  output.json({ jobs: jobs.map(jobJson), next_page_token: pageToken });
  if (jobs.length === 0) return output.text('No training job. Submit one: platform train submit --help');
  const now = systemClock.wall();
  output.table(
    jobColumns,
    jobs.map((job) => jobRow(job, now)),
  );
  if (pageToken !== '') output.note(`\nThere are more: platform train list --page-token ${pageToken}`);
}
