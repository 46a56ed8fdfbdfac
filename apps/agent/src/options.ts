import { readFile } from 'node:fs/promises';
import { parseCredentials, type MachineCredentials } from '@platform/contract/machine';
import { readJson, Usage } from '@platform/kit/node';
import { runOptions, type AgentOptions } from './commands/run-options.ts';
import type { OwnLayers } from './sync/intake.ts';

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
export async function readLayers({ debug, wait, fastStart, defaults }: AgentOptions): Promise<OwnLayers> {
  let manufacturer: unknown;
  try {
    manufacturer = await readJson(defaults);
  } catch (error) {
    throw new Usage(`The defaults file cannot be used: ${error instanceof Error ? error.message : String(error)}.`, 2);
  }
  if (manufacturer === undefined && defaults !== runOptions.defaults.default) {
    throw new Usage(`The defaults file ${defaults} does not exist. Correct --defaults, or leave it out.`, 2);
  }
  const set = { ...(debug && { debug }), ...(wait && { wait_for_update_check: true }) };
  return { commandLine: { advanced_settings: set }, manufacturer, isFastStart: fastStart };
}
