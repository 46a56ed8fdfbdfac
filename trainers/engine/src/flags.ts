import { PlatformError } from '@platform/contract/errors/errors';

export interface Flags {
  datasetFile: string;
  outFolder: string;
  jobFile: string;
  eventsFile: string;
}
const names = {
  dataset_file: 'datasetFile',
  model_output_directory: 'outFolder',
  job_file: 'jobFile',
  events_file: 'eventsFile',
} as const;

/**
 * @throws PlatformError INVALID_ARGUMENT. Ignores other flags: they repeat the job's arguments, which job.json
 *   contains.
 */
export function flagsOf(argv: readonly string[]): Flags {
  const found = new Map<string, string>();
  for (const argument of argv) {
    const [, key = '', value = ''] = /^--([A-Za-z0-9_-]+)=(.*)$/s.exec(argument) ?? [];
    found.set(key, value);
  }
  const flags: Flags = { datasetFile: '', outFolder: '', jobFile: '', eventsFile: '' };
  for (const [name, key] of Object.entries(names)) {
    const value = found.get(name);
    if (value === undefined || value === '') {
      throw new PlatformError('INVALID_ARGUMENT', { field: `--${name}`, limit: `give it as --${name}=PATH` });
    }
    flags[key] = value;
  }
  return flags;
}
