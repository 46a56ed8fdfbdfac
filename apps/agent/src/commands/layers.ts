import { parseJsonText } from '@platform/contract/text/json-text';
import { isObject } from '@platform/contract/text/json-object';
import { errorText, isNotText } from '@platform/kit';
import { readText } from '@platform/kit/node';
import { runOptions, type AgentOptions } from './run-options.ts';
import type { OwnLayers } from '../config/config-receiver.ts';

/** An unusable defaults file must not stop a machine: the layers then contain the problem and no defaults. */
export async function readLayers({ debug, wait, fastStart, defaults }: AgentOptions): Promise<OwnLayers> {
  const set = { ...(debug && { debug }), ...(wait && { wait_for_update_check: true }) };
  return { commandLine: { advanced_settings: set }, ...(await readDefaults(defaults)), isFastStart: fastStart };
}

/** The manufacturer's layer of this machine. */
export async function readDefaults(
  defaults: string,
): Promise<Pick<OwnLayers, 'manufacturer' | 'manufacturerFile' | 'problem'>> {
  let manufacturer: unknown;
  let problem: string | undefined;
  try {
    const text = await readText(defaults).catch(orMissing);
    manufacturer = text === undefined ? undefined : parseJsonText(text);
    if (manufacturer === undefined && defaults !== runOptions.defaults.default) problem = `${defaults} does not exist`;
    else if (manufacturer !== undefined && !isObject(manufacturer)) problem = `${defaults} holds no JSON object`;
  } catch (error) {
    problem =
      error instanceof SyntaxError
        ? `${defaults} is not valid JSON`
        : isNotText(error)
          ? `${defaults} cannot be read: ${error.message}`
          : errorText(error);
  }
  return {
    manufacturer: isObject(manufacturer) ? manufacturer : undefined,
    manufacturerFile: defaults,
    ...(problem !== undefined && { problem }),
  };
}

const orMissing = (error: unknown): undefined => {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
  throw error;
};
