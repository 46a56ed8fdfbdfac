import { errorText } from '@platform/kit';
import { readJson } from '@platform/kit/node';
import { runOptions, type AgentOptions } from './commands/run-options.ts';
import type { OwnLayers } from './sync/intake.ts';

/** A defaults file that cannot be used keeps no machine from running: the layers then say so, and do without it. */
export async function readLayers({ debug, wait, fastStart, defaults }: AgentOptions): Promise<OwnLayers> {
  let manufacturer: unknown;
  let problem: string | undefined;
  try {
    manufacturer = await readJson(defaults);
    if (manufacturer === undefined && defaults !== runOptions.defaults.default) problem = `${defaults} does not exist`;
    else if (manufacturer !== undefined && !isObject(manufacturer)) problem = `${defaults} holds no JSON object`;
  } catch (error) {
    problem = errorText(error);
  }
  const set = { ...(debug && { debug }), ...(wait && { wait_for_update_check: true }) };
  return {
    commandLine: { advanced_settings: set },
    manufacturer: isObject(manufacturer) ? manufacturer : undefined,
    isFastStart: fastStart,
    ...(problem !== undefined && { problem }),
  };
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);
