import { windowsPlaces } from '../install/windows-places.ts';
import type { OptionTable, OptionValues } from '@platform/kit/node';

export const standardDefaults = '/etc/platform-defaults.json';

const isWindows = process.platform === 'win32';

export const placeOptions = {
  config: {
    type: 'string',
    short: 'c',
    default: isWindows ? windowsPlaces.credentialsFile : '/etc/platform.json',
    description: 'Credentials file of this machine.',
  },
  root: {
    type: 'string',
    alias: 'platformDir',
    default: isWindows ? windowsPlaces.root : '/opt/platform',
    description: 'Folder of the agent: versions, state, logs.',
  },
} as const satisfies OptionTable;
export const jsonOption = {
  json: { type: 'boolean', env: '', description: 'Print one JSON document to stdout.' },
} as const;

export const runOptions = {
  ...placeOptions,
  defaults: { type: 'string', default: standardDefaults, description: "Manufacturer's defaults, an `agent` object." },
  debug: { type: 'boolean', short: 'd', description: 'Log at level debug.' },
  wait: {
    type: 'boolean',
    short: 'w',
    alias: 'waitForUpdate',
    env: 'PLATFORM_AGENT_WAIT_FOR_UPDATE',
    description: 'Check for updates before the machine server is started.',
  },
  fastStart: { type: 'boolean', description: 'Start the machine server at once, whatever the configuration says.' },
  manageNetworks: {
    type: 'string',
    choices: ['auto', 'always', 'never'],
    default: 'auto',
    description: 'Whether to manage the hotspot and the networks of the machine; auto: only as root under systemd.',
  },
  logFormat: {
    type: 'string',
    choices: ['text', 'json'],
    default: 'text',
    description: 'Format of log lines on stderr.',
  },
  version: { type: 'boolean', short: 'v', env: '', description: 'Print the version as JSON and exit.' },
} as const satisfies OptionTable;

export type AgentOptions = OptionValues<typeof runOptions>;
