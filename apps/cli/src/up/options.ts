import { options, type OptionValues } from '@platform/kit/node';
import { defaultDataFolder } from '../data-folder.ts';

const table = {
  host: {
    type: 'string',
    default: '127.0.0.1',
    description: 'Address to listen on. Others than loopback need a certificate.',
  },
  port: {
    type: 'number',
    default: 8080,
    min: 0,
    max: 65_535,
    description: 'Port of everything: web app, RPC, downloads. 0: any free one.',
  },
  dataDir: {
    type: 'string',
    description: 'Folder for database, files and the demo machine (default: .platform in the checkout).',
  },
  tlsCert: { type: 'string', description: 'Certificate (PEM file) for TLS on the same port.' },
  tlsKey: { type: 'string', description: 'Its private key (PEM file).' },
  tlsAuthority: {
    type: 'string',
    description:
      'Certificate of your own authority (PEM file), where --tls-cert does not end with it; the install line and credentials files pass it on.',
  },
  tlsKnownAuthority: {
    type: 'string',
    description:
      'An authority (PEM file) that every machine and browser of yours trusts already: nothing is passed on, and browsers come by TLS only (HSTS).',
  },
  metricsPort: {
    type: 'number',
    min: 0,
    max: 65_535,
    description: 'Port on 127.0.0.1 that serves /metrics of the management server without a key. Absent: none.',
  },
  backupDir: {
    type: 'string',
    description: 'Folder for scheduled backups, on another disk than the data folder. Absent: no schedule.',
  },
  backupEveryHours: { type: 'number', min: 0.001, description: 'Hours from one backup to the next (default: 24).' },
  backupKeep: { type: 'number', min: 1, description: 'Scheduled backups that are kept (default: 14).' },
  backupPassphrase: {
    type: 'secret',
    isVerbatim: true,
    description: 'Encrypts the keys of scheduled backups. Best as PLATFORM_BACKUP_PASSPHRASE.',
  },
  publicUrl: {
    type: 'string',
    description:
      'URL by which users and machines reach the server (default: the name in the certificate). Needed behind a proxy with another name.',
  },
  trustedProxy: {
    type: 'string',
    description: 'Addresses and networks of proxies in front of the server, with commas: 10.0.0.1,10.1.0.0/16.',
  },
  allowPlaintext: { type: 'boolean', description: 'Serve other hosts without TLS: for a TLS proxy on another host.' },
  empty: { type: 'boolean', description: 'Management server and runner alone: no demo machine, no images.' },
  once: {
    type: 'boolean',
    description: 'Run the demo once, stop everything, exit 0 only if every step was verified.',
  },
  json: { type: 'boolean', description: 'Print one JSON line on stdout; everything for users goes to stderr.' },
  logFormat: {
    type: 'string',
    default: 'text',
    choices: ['text', 'json'],
    description:
      'Warnings and errors on stderr as text, or as one JSON object each. The files in logs are not changed.',
  },
  ownPlatformOnly: {
    type: 'boolean',
    description:
      'Release agent and machine server for the platform of this host only. Without it, the other platforms follow in the background, also for Raspberry Pi and Windows.',
  },
  small: { type: 'boolean', description: 'A small demo: 60 images of four objects and a quickly trained model.' },
  acceptCopy: {
    type: 'boolean',
    description: 'Start on a copy that was made while the original ran, if all its files and rows pass a check.',
  },
  newKeys: {
    type: 'boolean',
    description:
      "Replace the first API key and the runner's key: when they were lost, rotated, deleted or seen by others.",
  },
  seed: { type: 'number', default: 1, min: 0, max: 2 ** 31, description: 'Seed of the demo images.' },
  options: { type: 'string', description: 'JSON file with these options in snake_case.' },
} as const;

export type UpOptions = Omit<OptionValues<typeof table>, 'dataDir'> & { dataDir: string };

/** @throws Usage for --help and for invalid options. */
export function upOptions(argv: readonly string[], env: Record<string, string | undefined>): UpOptions {
  const given = options(table, {
    program: 'npm start --',
    about: 'Brings up the platform and shows it working: a machine online under its agent, a model trained and used.',
    argv,
    env,
    fileFrom: 'options',
  });
  return { ...given, dataDir: given.dataDir ?? defaultDataFolder() };
}
