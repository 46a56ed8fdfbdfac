import path from 'node:path';
import { parseServerUrl } from '@platform/contract/provisioning/server-url';
import { Secret } from '@platform/kit';
import { options, Usage, type OptionTable, type OptionValues } from '@platform/kit/node';
import { defaultTrainerNice, engineOptions, engineTable, type EngineOptions } from './engine-options.ts';
import { scriptOptions, scriptTable, type ScriptOptions } from './script/script-options.ts';

/** Options of every program that runs jobs on this host. */
const workTable = {
  cacheMib: { type: 'number', default: 2048, min: 16, description: 'Limit of the image cache in MiB.' },
  graceSeconds: {
    type: 'number',
    default: 10,
    min: 0,
    max: 600,
    description: 'Seconds that a trainer has to end after a stop request, before it is killed.',
  },
  keepJobs: { type: 'boolean', description: 'Keep the folders of ended jobs for inspection.' },
  debug: { type: 'boolean', description: 'Log at level debug.' },
  logFormat: {
    type: 'string',
    choices: ['text', 'json'],
    default: 'text',
    description: 'Format of the log on stderr.',
  },
  trainerSandbox: {
    type: 'boolean',
    default: true,
    description: 'Run built-in trainers in a sandbox if bubblewrap works on this host.',
  },
  trainerNice: {
    type: 'number',
    default: defaultTrainerNice,
    min: 0,
    max: 19,
    description: 'Nice value of built-in trainers. Use 0 on a dedicated host.',
  },
  ...scriptTable,
} as const satisfies OptionTable;

const table = {
  url: { type: 'string', description: 'URL of the management server, such as http://127.0.0.1:8080.' },
  runnerToken: { type: 'secret', description: 'API key with the role runner, as <key id>:<key>.' },
  apiKeyId: { type: 'string', description: 'ID of the API key, instead of --runner-token.' },
  apiKey: { type: 'secret', description: 'The API key of --api-key-id.' },
  folder: { type: 'string', default: './runner', description: 'Folder of the runner: jobs, image cache, identity.' },
  jobs: { type: 'number', default: 1, min: 1, max: 64, description: 'Maximum number of concurrent jobs on this host.' },
  optionsFile: { type: 'string', description: 'JSON file with options in snake_case. Preferably store the key here.' },
  ...workTable,
  ...engineTable,
} as const satisfies OptionTable;

const attemptTable = {
  order: { type: 'string', default: '-', description: 'File that describes the attempt; -: standard input.' },
  folder: { type: 'string', description: 'Folder for jobs and the image cache (default: a temporary one).' },
  ...workTable,
} as const satisfies OptionTable;

/** How jobs run on this host. */
export interface WorkOptions {
  cacheBytes: number;
  graceMs: number;
  keepJobs: boolean;
  debug: boolean;
  logFormat: 'text' | 'json';
  /** False: built-in trainers run with the rights of the runner. */
  trainerSandbox: boolean;
  /** Added to the runner's own nice value. */
  trainerNice: number;
  scripts: ScriptOptions;
}
export interface RunnerOptions extends WorkOptions {
  url: string;
  apiKeyId: string;
  apiKey: Secret;
  /** Absolute path. */
  folder: string;
  /** Maximum number of concurrent jobs. */
  jobs: number;
  engine: EngineOptions;
}
export interface AttemptOptions extends WorkOptions {
  order: string;
  /** Absolute path. */
  folder: string | undefined;
}

function workOptions(given: OptionValues<typeof workTable>): WorkOptions {
  const { cacheMib, graceSeconds, keepJobs, debug, logFormat, trainerSandbox, trainerNice } = given;
  const times = { cacheBytes: cacheMib * 2 ** 20, graceMs: graceSeconds * 1000 };
  return { ...times, keepJobs, debug, logFormat, trainerSandbox, trainerNice, scripts: scriptOptions(given) };
}

/** @throws Usage */
export function readAttemptOptions(argv: readonly string[], env: Record<string, string | undefined>): AttemptOptions {
  const about = 'Runs one attempt on a training job, as a runner ordered it through an engine.';
  const given = options(attemptTable, {
    program: 'platform-runner attempt',
    about,
    argv,
    env,
    envPrefix: 'PLATFORM_ATTEMPT',
  });
  const folder = given.folder === undefined ? undefined : path.resolve(given.folder);
  return { ...workOptions(given), order: given.order, folder };
}

/** @throws Usage */
export function readOptions(argv: readonly string[], env: Record<string, string | undefined>): RunnerOptions {
  const given = options(table, {
    program: 'platform-runner',
    about: 'Runs training jobs of one organization on this host, or on a cluster through its engine.',
    argv,
    env,
    fileFrom: 'optionsFile',
  });
  const { url } = given;
  const server = parseServerUrl(url ?? '');
  if (!server.ok) {
    const problem = url === undefined ? '' : ` ${server.shown} cannot be used: ${server.problem}.`;
    throw new Usage(`Give the URL of the management server: --url http://127.0.0.1:8080 or PLATFORM_URL.${problem}`, 2);
  }
  const key = given.runnerToken === undefined ? given : keyOf(given.runnerToken);
  if (key.apiKeyId === undefined || key.apiKey === undefined) {
    throw new Usage(
      'Give an API key with the runner role in PLATFORM_RUNNER_TOKEN as <key id>:<key>, or in PLATFORM_API_KEY_ID and PLATFORM_API_KEY.',
      2,
    );
  }
  const address = server.value;
  const work = workOptions(given);
  return {
    ...work,
    url: address,
    apiKeyId: key.apiKeyId,
    apiKey: key.apiKey,
    folder: path.resolve(given.folder),
    jobs: given.jobs,
    engine: engineOptions(given, address, work.scripts),
  };
}

function keyOf(token: Secret): { apiKeyId: string; apiKey: Secret } {
  const [, id, key] = /^([^:\s]+):(\S+)$/.exec(token.reveal().trim()) ?? [];
  if (id === undefined || key === undefined) {
    throw new Usage('The runner token must be <key id>:<key>, in PLATFORM_RUNNER_TOKEN or --runner-token.', 2);
  }
  return { apiKeyId: id, apiKey: new Secret(key) };
}
