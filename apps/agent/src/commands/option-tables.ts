import type { OptionTable } from '@platform/kit/node';
import { jsonOption, placeOptions, runOptions } from './run-options.ts';

const flag = (description: string) => ({ type: 'boolean', env: '', description }) as const;
const text = (description: string) => ({ type: 'string', env: '', description }) as const;

export const installOptions = {
  ...placeOptions,
  url: { type: 'string', env: 'PLATFORM_URL', description: 'URL of the management server.' },
  partId: { type: 'string', env: 'PLATFORM_PART_ID', description: 'Part ID of this machine, from the management app.' },
  apiKeyId: { type: 'string', env: 'PLATFORM_API_KEY_ID', description: 'ID of an API key that may read this part.' },
  apiKey: { type: 'secret', env: 'PLATFORM_API_KEY', description: 'The API key. Prefer the environment variable.' },
  installer: {
    type: 'string',
    env: 'PLATFORM_INSTALLER',
    description: 'Name of this installation, so that it can reuse a one-time key after a failure. install.sh sets it.',
  },
  binary: text('Program to install instead of this one.'),
  trustedRoot: text('File with the first root metadata of the release keys.'),
  authority: text(
    'PEM file with the authority that issued the certificate of the management server. Default: the authorities of the system.',
  ),
  unitFolder: text('Folder for the unit. systemd itself is not changed then, as needed for a disk image.'),
  linkFolder: {
    type: 'string',
    env: '',
    default: '/usr/local/bin',
    description: 'Folder for the link to the command.',
  },
  noStart: flag('Install everything, but start nothing.'),
  dryRun: flag('Show what would be done, without doing it.'),
  force: flag('Replace the credentials of another machine.'),
  replace: flag('Stop and disable other agents on this machine.'),
  offline: flag('Use no network. The credentials must be in place and the signature already verified.'),
  noCredentials: flag(
    'Install without credentials, for example in the image of a device that gets them from its owner during provisioning.',
  ),
  unsigned: flag('Install a program without a release signature.'),
  ...jsonOption,
} as const satisfies OptionTable;

export const preinstallOptions = {
  target: text('Mounted root file system of the device, for example of an SD card.'),
  binary: text('The agent for the device. Default: this program.'),
  sums: text('SHA256SUMS of the management server.'),
  sig: text('SHA256SUMS.sig of the management server.'),
  trustedRoot: text('The newest root metadata of the release keys, tuf/<n>.root.json of the management server.'),
  unsigned: flag('Install the agent without verifying its signature.'),
  defaults: text("Manufacturer's defaults, copied to /etc/platform-defaults.json."),
  credentials: text('Credentials of this device, copied to /etc/platform.json.'),
  ...jsonOption,
} as const satisfies OptionTable;

export const prepareOptions = {
  ...placeOptions,
  keepCredentials: flag('Keep the credentials, for an image of this machine only.'),
  keepServerData: flag('Keep the data of the machine server. Its packages are always kept.'),
  networks: flag('Remove the network profiles of the agent, with their passwords.'),
  dryRun: flag('Show what would be removed, without removing it.'),
  ...jsonOption,
} as const satisfies OptionTable;

export const uninstallOptions = {
  ...placeOptions,
  keepCredentials: flag('Keep the credentials file.'),
  networks: flag(
    'Also remove the networks of the agent, including the one in use. In a session over that network, --yes is required. Not on Windows.',
  ),
  yes: { type: 'boolean', short: 'y', env: '', description: 'Do not ask for confirmation.' },
  ...jsonOption,
} as const satisfies OptionTable;

export const logsOptions = {
  root: placeOptions.root,
  follow: { type: 'boolean', short: 'f', env: '', description: 'Follow new lines until Ctrl-C.' },
  lines: {
    type: 'number',
    short: 'n',
    env: '',
    min: 0,
    max: 10_000,
    default: 100,
    description: 'Number of lines to show.',
  },
  server: flag("Show the machine server's log."),
  stdout: flag('With --server: also show its standard output.'),
  json: flag('Print one JSON object per line.'),
} as const satisfies OptionTable;

export const diagnosticsOptions = {
  ...placeOptions,
  defaults: runOptions.defaults,
  output: {
    type: 'string',
    short: 'o',
    env: '',
    description: 'File to write. Default: a file in the current folder, named after the machine and the time.',
  },
  ...jsonOption,
} as const satisfies OptionTable;

export const provisionOptions = {
  ...placeOptions,
  credentials: text('File with the credentials from the management app; - reads stdin.'),
  code: text('Set-up code with its server from the management app, such as ABCD-EFGH@fleet.example; - reads stdin.'),
  force: flag('Replace the credentials of another machine.'),
  hotspot: flag('Start the hotspot of the running agent now.'),
  defaults: runOptions.defaults,
  yes: flag('With --hotspot: start it even if this session runs over WiFi.'),
  ...jsonOption,
} as const satisfies OptionTable;
