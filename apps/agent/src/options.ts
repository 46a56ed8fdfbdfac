import { readFile } from 'node:fs/promises';
import { parseCredentials, type MachineCredentials } from '@platform/contract/machine';
import { options, readJson, Usage, type OptionTable, type OptionValues } from '@platform/kit/node';
import type { OwnLayers } from './sync/intake.ts';

const standardDefaults = '/etc/platform-defaults.json';

const table = {
  config: { type: 'string', default: '/etc/platform.json', description: 'Credentials file of this machine.' },
  root: { type: 'string', default: '/opt/platform', description: 'Folder of the agent: versions, state, logs.' },
  defaults: { type: 'string', default: standardDefaults, description: "Manufacturer's defaults, an `agent` object." },
  debug: { type: 'boolean', description: 'Log at level debug.' },
  waitForUpdate: { type: 'boolean', description: 'Check for updates before the machine server is started.' },
  fastStart: { type: 'boolean', description: 'Start the machine server at once, whatever the configuration says.' },
  logFormat: {
    type: 'string',
    choices: ['text', 'json'],
    default: 'text',
    description: 'Form of the lines on stderr.',
  },
  version: { type: 'boolean', description: 'Print the version as JSON and end.' },
} as const satisfies OptionTable;
export type AgentOptions = OptionValues<typeof table>;

/** @throws Usage */
export const readOptions = (argv: readonly string[], env: Record<string, string | undefined>): AgentOptions =>
  options(table, {
    program: 'platform-agent',
    about: 'Keeps the machine server of one machine installed, running and up to date.',
    argv,
    env,
    envPrefix: 'PLATFORM_AGENT',
  });

/** @throws Usage when the file is missing or cannot be understood */
export async function readCredentials(file: string): Promise<MachineCredentials> {
  const copy = 'Copy the credentials of this machine from the management app (or `platform machine credentials`)';
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Usage(
      `The credentials file ${file} cannot be read: ${why}. ${copy} to it, or name another with --config.`,
      2,
    );
  }
  const parsed = parseCredentials(text);
  if (!parsed.ok)
    throw new Usage(`The credentials file ${file} cannot be used: ${parsed.problem}; ${parsed.remedy}.`, 2);
  return parsed.value;
}

/** @throws Usage when a defaults file that was named is missing or is not JSON */
export async function readLayers({ debug, waitForUpdate, fastStart, defaults }: AgentOptions): Promise<OwnLayers> {
  let manufacturer: unknown;
  try {
    manufacturer = await readJson(defaults);
  } catch (error) {
    throw new Usage(`The defaults file cannot be used: ${error instanceof Error ? error.message : String(error)}.`, 2);
  }
  if (manufacturer === undefined && defaults !== standardDefaults) {
    throw new Usage(`The defaults file ${defaults} does not exist. Correct --defaults, or leave it out.`, 2);
  }
  const set = { ...(debug && { debug }), ...(waitForUpdate && { wait_for_update_check: true }) };
  return { commandLine: { advanced_settings: set }, manufacturer, isFastStart: fastStart };
}
