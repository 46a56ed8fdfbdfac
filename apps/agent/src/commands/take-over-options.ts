import { type OptionTable, type OptionValues, runFolder } from '@platform/kit/node';
import { adminUnits } from '../install/desired.ts';
import { standardRoot } from '../take-over/moved.ts';
import { placeOptions } from './run-options.ts';

const flag = (description: string) => ({ type: 'boolean', env: '', description }) as const;

/** Where the files of a take-over are, besides the other agent's folder. */
const placesOfTakeOver = {
  unitFolder: { type: 'string', default: adminUnits, description: "Folder of the administrator's systemd units." },
  memoryFolder: { type: 'string', default: runFolder, description: 'Folder that a reboot empties.' },
} as const;

/** The options with which the service of the other product starts its agent. */
export const takeOverOptions = {
  config: {
    type: 'string',
    short: 'c',
    env: '',
    default: '/etc/viam.json',
    description: 'Credentials file of the other agent.',
  },
  defaults: {
    type: 'string',
    env: '',
    default: '/etc/viam-defaults.json',
    description: "Manufacturer's defaults of the other agent.",
  },
  viamDir: { type: 'string', env: '', default: standardRoot, description: 'Folder of the other agent.' },
  install: flag('Prepare for the first start, then exit.'),
  enableSyscfg: flag('Accepted but ignored: the configuration decides.'),
  enableNetworking: flag('Accepted but ignored: the configuration decides.'),
  devMode: flag('Accepted but ignored.'),
  debug: { type: 'boolean', short: 'd', env: '', description: 'Log at level debug.' },
  wait: { type: 'boolean', short: 'w', env: '', description: 'Accepted but ignored.' },
  root: { ...placeOptions.root, alias: 'ownRoot' },
  ownConfig: { ...placeOptions.config, short: 'C', env: 'PLATFORM_AGENT_CONFIG' },
  ...placesOfTakeOver,
} as const satisfies OptionTable;

export type TakeOverOptions = OptionValues<typeof takeOverOptions>;

export const migrateBackOptions = {
  root: placeOptions.root,
  viamDir: {
    type: 'string',
    env: '',
    description: 'Folder of the other agent. Default: the folder of the agent that was replaced.',
  },
  ...placesOfTakeOver,
  yes: { type: 'boolean', short: 'y', env: '', description: 'Do not ask for confirmation.' },
} as const satisfies OptionTable;

export type MigrateBackOptions = OptionValues<typeof migrateBackOptions>;

const others = /^--?(?:install|enable-syscfg|enable-networking|viam-dir|dev-mode)(?:=|$)/;

/** Whether another product's service started this program with the options of its own agent. */
export const isOtherStart = (argv: readonly string[]): boolean =>
  argv[0]?.startsWith('-') === true && argv.some((word) => others.test(word));
