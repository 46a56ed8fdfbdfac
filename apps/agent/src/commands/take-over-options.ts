import type { OptionTable, OptionValues } from '@platform/kit/node';
import { placeOptions } from './run-options.ts';

const flag = (description: string) => ({ type: 'boolean', env: '', description }) as const;

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
  viamDir: { type: 'string', env: '', default: '/opt/viam', description: 'Folder of the other agent.' },
  install: flag('Prepare for the first start, and end.'),
  enableSyscfg: flag('Understood, without effect: the configuration decides.'),
  enableNetworking: flag('Understood, without effect: the configuration decides.'),
  devMode: flag('Understood, without effect.'),
  debug: { type: 'boolean', short: 'd', env: '', description: 'Log at level debug.' },
  wait: { type: 'boolean', short: 'w', env: '', description: 'Understood, without effect.' },
  root: { ...placeOptions.root, alias: 'ownRoot' },
  ownConfig: { ...placeOptions.config, short: 'C', env: 'PLATFORM_AGENT_CONFIG' },
  unitFolder: {
    type: 'string',
    default: '/etc/systemd/system',
    description: 'Folder of the units of the administrator.',
  },
} as const satisfies OptionTable;

export type TakeOverOptions = OptionValues<typeof takeOverOptions>;

const others = /^--?(?:install|enable-syscfg|enable-networking|viam-dir|dev-mode)(?:=|$)/;

/** Whether another product's service started this program with the options of its own agent. */
export const isOtherStart = (argv: readonly string[]): boolean =>
  argv[0]?.startsWith('-') === true && argv.some((word) => others.test(word));
