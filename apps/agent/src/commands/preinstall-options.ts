import type { OptionTable } from '@platform/kit/node';
import { jsonOption } from './run-options.ts';

const file = (description: string) => ({ type: 'string', env: '', description }) as const;

export const preinstallOptions = {
  target: file('Mounted root file system of the device, for example of an SD card.'),
  binary: file('The agent for the device. Default: this program.'),
  sums: file('SHA256SUMS of the management server.'),
  sig: file('SHA256SUMS.sig of the management server.'),
  trustedRoot: file('The newest root metadata of the release keys, tuf/<n>.root.json of the management server.'),
  unsigned: { type: 'boolean', env: '', description: 'Install the agent without verifying its signature.' },
  defaults: file("Manufacturer's defaults, copied to /etc/platform-defaults.json."),
  credentials: file('Credentials of this device, copied to /etc/platform.json.'),
  ...jsonOption,
} as const satisfies OptionTable;
