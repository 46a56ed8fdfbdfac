import tab from '@bomb.sh/tab/commander';
import { allMachines } from '@platform/client';
import type { Command } from 'commander';
import { PackageType } from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import { systemClock } from '@platform/kit/node';
import { connect } from './connection.ts';
import { registryItems } from './find/registry.ts';
import { shellCompletion } from './shell-completion.ts';
import { printable } from './terminal-text.ts';

/** Kinds of names that an argument can have. */
export type Kind = 'dataset' | 'job' | 'model' | 'script' | 'machine' | 'container';
export type NamesOf = (kind: Kind) => Promise<readonly string[]>;

const kindOfWord: Readonly<Record<string, Kind>> = {
  dataset: 'dataset',
  datasets: 'dataset',
  from: 'dataset',
  job: 'job',
  model: 'model',
  'model-name': 'model',
  script: 'script',
  machine: 'machine',
  container: 'container',
};

/** Limit of a completion: the shell must not wait for a slow server. */
const patienceMs = 1200;

/** Excludes names that a shell would split or interpret. */
const isWord = (name: string): boolean => /^[\p{L}\p{N}._:/@+-]+$/u.test(name) && printable(name) === name;

/**
 * `platform completion bash|zsh|fish` prints a script for the shell. The script then calls `platform complete -- …` for
 * candidates: commands, flags and, if the server answers in time, names.
 */
export function addCompletion(program: Command, namesOf: NamesOf): void {
  const root = tab(program, { completionCommandName: 'completion' });
  const asked = new Map<Kind, readonly string[]>();
  const offer =
    (kind: Kind) =>
    (complete: (value: string, description: string) => void): void => {
      for (const name of asked.get(kind) ?? []) if (isWord(name)) complete(name, '');
    };
  for (const command of root.commands.values()) {
    for (const [name, argument] of command.arguments) {
      const kind = kindOfWord[name];
      if (kind && !command.value.endsWith(' create')) argument.handler = offer(kind);
    }
    for (const [name, option] of command.options) {
      const kind = kindOfWord[name];
      if (kind && !option.isBoolean) option.handler = offer(kind);
    }
  }
  const named = (name: string): Command | undefined => program.commands.find((command) => command.name() === name);
  named('completion')
    ?.description('print completion for bash, zsh or fish; see docs/cli.md')
    .action((shell: string) => {
      const script = shellCompletion[shell];
      if (script === undefined) root.setup(program.name(), program.name(), shell);
      else process.stdout.write(script);
    });
  named('complete')?.hook('preAction', async (_, command) => {
    const kinds = kindsFor(root.commands, command.args);
    await Promise.all(kinds.map(async (kind) => asked.set(kind, await namesOf(kind))));
  });
}

interface CompletedCommand {
  readonly value: string;
  readonly arguments: ReadonlyMap<string, unknown>;
}

/** Which kinds of names the word at the cursor can be. */
export function kindsFor(commands: ReadonlyMap<string, CompletedCommand>, words: readonly string[]): Kind[] {
  const [last = '', before = ''] = [words.at(-1), words.at(-2)];
  const flag = /^--(.+?)(?:=|$)/.exec(last.includes('=') ? last : before)?.[1];
  const ofFlag = flag === undefined ? undefined : kindOfWord[flag];
  if (ofFlag) return [ofFlag];
  if (last.startsWith('-')) return [];
  const plain = words.filter((word) => !word.startsWith('-'));
  const command = [2, 1].map((n) => commands.get(plain.slice(0, n).join(' '))).find((one) => one !== undefined);
  if (!command) return [];
  return [...command.arguments.keys()].flatMap((name) => kindOfWord[name] ?? []);
}

/** Names from the server in the environment; none if it does not answer in time. */
export const completionNames: NamesOf = async (kind) => {
  const stop = new AbortController();
  const late = systemClock.sleep(patienceMs, stop.signal).then((): readonly string[] => []);
  try {
    return await Promise.race([late, namesFromServer(kind)]);
  } catch {
    return []; // a shell does not show errors of a completion
  } finally {
    stop.abort();
  }
};

async function namesFromServer(kind: Kind): Promise<readonly string[]> {
  const open = await connect({});
  const organizationId = await open.organizationId();
  switch (kind) {
    case 'dataset':
      return (await open.client.datasetClient.listDatasetsByOrganizationId(organizationId)).map((one) => one.name);
    case 'machine':
      return (await allMachines(open.client, organizationId)).map((one) => one.name);
    case 'model':
      return (await registryItems(open, PackageType.ML_MODEL)).map((one) => one.name);
    case 'script':
      return (await registryItems(open, PackageType.ML_TRAINING)).map((one) => one.name);
    case 'container':
      return (await open.client.mlTrainingClient.listSupportedContainers()).map(({ key }) => key);
    case 'job': {
      const { value: jobs } = await open.client.mlTrainingClient.pagesOfTrainingJobs(organizationId).next();
      return (jobs ?? []).map((job) => `${job.modelName}/${job.modelVersion}`);
    }
  }
}
