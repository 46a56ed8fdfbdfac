import { command, type Command } from './command.ts';
import { jsonOption, placeOptions, runOptions } from './run-options.ts';

/** Every command, in the order of the help. */
export const commands: readonly Command[] = [
  command({
    name: 'run',
    summary: 'Keep the machine server installed, running and up to date (also without a command)',
    about:
      'Keeps the machine server of one machine installed, running and up to date, until a signal stops both. systemd runs this.',
    table: runOptions,
    load: async () => (await import('./run.ts')).run,
  }),
  command({
    name: 'status',
    summary: 'What runs, what is wanted, and why',
    about:
      'Asks the running agent. When none runs, shows what its folder tells and ends with 3. The members of the JSON document are described in docs/agent.md.',
    table: { root: placeOptions.root, ...jsonOption },
    load: async () => (await import('./status.ts')).status,
  }),
  command({
    name: 'version',
    summary: 'The version of this program as JSON',
    about: 'Prints {"version", "binary_name"} in one line.',
    table: {},
    load: async () => (await import('./version.ts')).printVersion,
  }),
];
