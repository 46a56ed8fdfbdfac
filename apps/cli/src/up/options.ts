import { options, type OptionValues } from '@platform/kit/node';
import { defaultDataFolder } from '../data-folder.ts';

const table = {
  host: {
    type: 'string',
    default: '127.0.0.1',
    description: 'IP address to listen on. Addresses other than loopback need a certificate.',
  },
  port: {
    type: 'number',
    default: 8080,
    min: 0,
    max: 65_535,
    description: 'Port for web app, RPC and downloads. 0: any free port.',
  },
  dataDir: {
    type: 'string',
    description: 'Folder for database, files and the demo machine (default: .platform in the checkout).',
  },
  tlsCert: { type: 'string', description: 'Certificate with its chain (PEM file), for TLS on the same port.' },
  tlsKey: { type: 'string', description: 'Private key of the certificate (PEM file).' },
  tlsAuthority: {
    type: 'string',
    description:
      'Certificate of your own authority (PEM file), if --tls-cert does not include it. The install command and credentials files contain it.',
  },
  tlsKnownAuthority: {
    type: 'string',
    description:
      'Certificate of an authority (PEM file) that all your machines and browsers already trust. It is not distributed, and browsers must use TLS (HSTS).',
  },
  metricsPort: {
    type: 'number',
    min: 0,
    max: 65_535,
    description: 'Port on 127.0.0.1 that serves /metrics of the management server without a key. Default: none.',
  },
  backupDir: {
    type: 'string',
    description: 'Folder for scheduled backups, on another disk than the data folder. Default: no scheduled backups.',
  },
  backupEveryHours: { type: 'number', min: 0.001, description: 'Hours between two backups (default: 24).' },
  backupKeep: { type: 'number', min: 1, description: 'Number of scheduled backups to keep (default: 14).' },
  backupPassphrase: {
    type: 'secret',
    isVerbatim: true,
    description:
      'Passphrase that encrypts the keys of scheduled backups. Preferably set PLATFORM_BACKUP_PASSPHRASE instead.',
  },
  publicUrl: {
    type: 'string',
    description:
      'URL by which users and machines reach the server (default: the name in the certificate). Needed behind a proxy with another name.',
  },
  trustedProxy: {
    type: 'string',
    description: 'Comma-separated addresses and networks of proxies in front of the server: 10.0.0.1,10.1.0.0/16.',
  },
  allowPlaintext: {
    type: 'boolean',
    description: 'Allow other hosts to connect without TLS, for a TLS proxy on another host.',
  },
  empty: { type: 'boolean', description: 'Start management server and runner only, without demo machine and images.' },
  once: {
    type: 'boolean',
    description: 'Run the demo once, stop everything, exit 0 only if every step was verified.',
  },
  json: { type: 'boolean', description: 'Print one JSON line on stdout and all other output on stderr.' },
  logFormat: {
    type: 'string',
    default: 'text',
    choices: ['text', 'json'],
    description:
      'Format of warnings and errors on stderr: text, or one JSON object per line. The log files keep their format.',
  },
  ownPlatformOnly: {
    type: 'boolean',
    description:
      'Publish agent and machine server for the platform of this host only. By default, those for Raspberry Pi and Windows follow in the background.',
  },
  small: {
    type: 'boolean',
    description: 'Run a small demo: 60 images of four objects and a model that trains quickly.',
  },
  acceptCopy: {
    type: 'boolean',
    description:
      'Start with a copy of the data folder that was made while the original was in use, if all its files and rows pass a check.',
  },
  newKeys: {
    type: 'boolean',
    description: 'Replace the first API key and the key of the runner, if they were lost, rotated, deleted or exposed.',
  },
  seed: { type: 'number', default: 1, min: 0, max: 2 ** 31, description: 'Seed of the demo images.' },
  options: { type: 'string', description: 'JSON file with these options in snake_case.' },
} as const;

export type UpOptions = Omit<OptionValues<typeof table>, 'dataDir'> & { dataDir: string };

/** @throws Usage for --help and for invalid options. */
export function upOptions(argv: readonly string[], env: Record<string, string | undefined>): UpOptions {
  const given = options(table, {
    program: 'npm start --',
    about: 'Starts the platform with a demo: an online machine with its agent, and a model that is trained and used.',
    argv,
    env,
    fileFrom: 'options',
  });
  return { ...given, dataDir: given.dataDir ?? defaultDataFolder() };
}
