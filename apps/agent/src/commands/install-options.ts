import type { OptionTable } from '@platform/kit/node';
import { jsonOption, placeOptions } from './run-options.ts';

const flag = (description: string) => ({ type: 'boolean', env: '', description }) as const;

export const installOptions = {
  ...placeOptions,
  url: { type: 'string', env: 'PLATFORM_URL', description: 'Address of the management server.' },
  partId: { type: 'string', env: 'PLATFORM_PART_ID', description: 'Part of the machine in the management app.' },
  apiKeyId: { type: 'string', env: 'PLATFORM_API_KEY_ID', description: 'ID of a key that may read the part.' },
  apiKey: { type: 'secret', env: 'PLATFORM_API_KEY', description: 'The key; better given in the environment.' },
  binary: { type: 'string', env: '', description: 'Program to install in place of this one.' },
  trustedRoot: { type: 'string', env: '', description: 'First root of the release keys, a file.' },
  authority: {
    type: 'string',
    env: '',
    description:
      'Certificate of the authority that vouches for the management server, a PEM file; left out: those of the system.',
  },
  unitFolder: {
    type: 'string',
    env: '',
    description: 'Folder for the unit; systemd itself is left alone then, as for the image of a disk.',
  },
  linkFolder: {
    type: 'string',
    env: '',
    default: '/usr/local/bin',
    description: 'Folder for the link to the command.',
  },
  noStart: flag('Lay everything down and start nothing.'),
  dryRun: flag('Say what would be done and do nothing.'),
  force: flag('Replace the credentials of another machine.'),
  replace: flag('Stop and disable other agents that are set up here.'),
  offline: flag('Use no network: the credentials are there, and the signature was checked before.'),
  noCredentials: flag(
    'Install without credentials, for example in the image of a device that asks its owner for them in provisioning.',
  ),
  unsigned: flag('Install a program that no release key signed.'),
  ...jsonOption,
} as const satisfies OptionTable;
