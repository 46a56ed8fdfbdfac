import type { OptionTable } from '@platform/kit/node';
import { jsonOption, placeOptions } from './run-options.ts';

const flag = (description: string) => ({ type: 'boolean', env: '', description }) as const;

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
  binary: { type: 'string', env: '', description: 'Program to install instead of this one.' },
  trustedRoot: { type: 'string', env: '', description: 'File with the first root metadata of the release keys.' },
  authority: {
    type: 'string',
    env: '',
    description:
      'PEM file with the authority that issued the certificate of the management server. Default: the authorities of the system.',
  },
  unitFolder: {
    type: 'string',
    env: '',
    description: 'Folder for the unit. systemd itself is not changed then, as needed for a disk image.',
  },
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
