import path from 'node:path';
import type { Secret } from '@platform/kit';
import { options, Usage, type OptionTable } from '@platform/kit/node';

const table = {
  url: { type: 'string', description: 'Address of the management server, such as http://127.0.0.1:8080.' },
  apiKeyId: { type: 'string', description: 'ID of an API key with the runner role.' },
  apiKey: { type: 'secret', description: 'The API key.' },
  folder: { type: 'string', default: './runner', description: 'Folder of the runner: jobs, picture cache, identity.' },
  cacheMib: { type: 'number', default: 2048, min: 16, description: 'Limit of the picture cache in MiB.' },
  graceSeconds: {
    type: 'number',
    default: 10,
    min: 0,
    max: 600,
    description: 'How long a trainer may take to end when it is told to, before it is killed.',
  },
  keepJobs: { type: 'boolean', description: 'Keep the folders of jobs that have ended, to look at them.' },
  debug: { type: 'boolean', description: 'Log at level debug.' },
  logFormat: {
    type: 'string',
    choices: ['text', 'json'],
    default: 'text',
    description: 'Form of the lines on stderr.',
  },
} as const satisfies OptionTable;

export interface RunnerOptions {
  url: string;
  apiKeyId: string;
  apiKey: Secret;
  /** Absolute. */
  folder: string;
  cacheBytes: number;
  graceMs: number;
  keepJobs: boolean;
  debug: boolean;
  logFormat: 'text' | 'json';
}

/** @throws Usage */
export function readOptions(argv: readonly string[], env: Record<string, string | undefined>): RunnerOptions {
  const given = options(table, {
    program: 'platform-runner',
    about: 'Runs training jobs of one organization on this computer.',
    argv,
    env,
  });
  const { url, apiKeyId, apiKey } = given;
  if (url === undefined || !URL.canParse(url)) {
    throw new Usage('Give the address of the management server: --url http://127.0.0.1:8080 or PLATFORM_URL.', 2);
  }
  if (apiKeyId === undefined || apiKey === undefined) {
    throw new Usage('Give an API key with the runner role in PLATFORM_API_KEY_ID and PLATFORM_API_KEY.', 2);
  }
  return {
    url: url.replace(/\/+$/, ''),
    apiKeyId,
    apiKey,
    folder: path.resolve(given.folder),
    cacheBytes: given.cacheMib * 2 ** 20,
    graceMs: given.graceSeconds * 1000,
    keepJobs: given.keepJobs,
    debug: given.debug,
    logFormat: given.logFormat,
  };
}
