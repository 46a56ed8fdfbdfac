import { machineExit, parseCredentials, serverName } from '@platform/contract/machine-server/machine-server';
import type { MachineCredentials } from '@platform/contract/machine-server/machine-server';
import { errorText } from '@platform/kit';
import { options, readText } from '@platform/kit/node';
import path from 'node:path';

export interface CommandLine {
  /** Path of the credentials file. */
  readonly config: string;
  readonly dataFolder: string;
  /** Interval of the configuration polls. */
  readonly pollMs: number;
  readonly debug: boolean;
  readonly version: boolean;
}

/** A fatal error; `exitCode` is one of `machineExit`. */
export class Refusal extends Error {
  readonly exitCode: number;
  constructor(message: string, exitCode: number) {
    super(message);
    this.name = 'Refusal';
    this.exitCode = exitCode;
  }
}

const table = {
  config: { type: 'string', default: '/etc/platform.json', description: "The machine's credentials file." },
  data: { type: 'string', default: 'platform-server-data', description: 'Folder for models, caches and captures.' },
  pollSeconds: {
    type: 'number',
    default: 5,
    min: 0.1,
    max: 3600,
    description: 'Seconds between two requests for the configuration.',
  },
  debug: { type: 'boolean', default: false, description: 'Log at level debug.' },
  version: { type: 'boolean', default: false, description: 'Print program name and version as JSON, and exit.' },
} as const;

/** Accepts `-config FILE` like `--config FILE`: agents start a machine server with the short form. @throws Usage */
export function readCommandLine(argv: readonly string[], env: Record<string, string | undefined>): CommandLine {
  const read = options(table, {
    program: serverName,
    about: 'The reference machine server: runs the configuration of one machine.',
    argv: argv.map((word) => (/^-[a-z]{2}/.test(word) ? `-${word}` : word)),
    env,
    envPrefix: 'PLATFORM_SERVER',
  });
  const { config, data, pollSeconds, debug, version } = read;
  return { config, dataFolder: path.resolve(data), pollMs: pollSeconds * 1000, debug, version };
}

/** @throws Refusal with the file, the problem and the remedy. */
export async function readCredentials(file: string): Promise<MachineCredentials> {
  let text: string;
  try {
    text = await readText(file);
  } catch (error) {
    const why =
      error instanceof Error && 'code' in error && error.code === 'ENOENT' ? 'does not exist' : errorText(error);
    const remedy = 'Put the credentials of this machine there, or name another file with -config.';
    throw new Refusal(`The credentials file ${file} can't be read: ${why}. ${remedy}`, machineExit.badCredentials);
  }
  const parsed = parseCredentials(text);
  if (parsed.ok) return parsed.value;
  const message = `The credentials file ${file} can't be used: ${parsed.problem}. To mend it, ${parsed.remedy}.`;
  throw new Refusal(message, machineExit.badCredentials);
}
