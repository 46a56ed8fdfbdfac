import { options, type OptionValues } from '@platform/kit/node';
import { usualLimits } from './wire/visitors.ts';

const table = {
  dataDir: {
    type: 'string',
    default: '.platform',
    description: 'Folder for the database, files and secrets of this server.',
  },
  host: { type: 'string', default: '127.0.0.1', description: 'Address to listen on.' },
  port: { type: 'number', default: 8080, min: 0, max: 65_535, description: 'Port to listen on. 0: any free one.' },
  metricsPort: {
    type: 'number',
    min: 0,
    max: 65_535,
    description: 'Port on 127.0.0.1 that serves /metrics (OpenMetrics) without a key. 0: any free one. Absent: none.',
  },
  publicUrl: {
    type: 'string',
    description: 'URL by which users and machines reach this server, if a proxy is in front of it.',
  },
  trustedProxy: {
    type: 'string',
    description:
      'Addresses and networks of proxies in front of this server, with commas: 10.0.0.1,10.1.0.0/16. What they say of the address of a client counts.',
  },
  connectionsPerAddress: {
    type: 'number',
    default: usualLimits.ofAddress,
    min: 1,
    description:
      'Connections of one address (IPv6: of a /64, twice as many of a /56, four times of a /48) at once whose callers have not proved who they are.',
  },
  unprovenCallsPerS: {
    type: 'number',
    default: 50,
    min: 0,
    description:
      'Calls and pages a second of one address (IPv6: of a /64, twice as many of a /56, four times of a /48) without valid credentials, twelve times as many at once; four times as many where a caller is known. 0: no limit.',
  },
  tlsCert: { type: 'string', description: 'File with the TLS certificate (PEM). TLS is spoken on the same port then.' },
  tlsKey: { type: 'string', description: 'File with the key of the TLS certificate (PEM).' },
  tlsAuthority: {
    type: 'string',
    description:
      'File with the certificate of your own authority (PEM), if machines do not know it: the install line and credentials files pass it on. Not needed where --tls-cert ends with it.',
  },
  tlsKnownAuthority: {
    type: 'string',
    description:
      'File with an authority (PEM) whose certificates every machine and browser of yours trusts already, as your company installed it. It then counts as public: nothing is passed on, and browsers come by TLS only (HSTS).',
  },
  allowPlaintext: {
    type: 'boolean',
    default: false,
    description: 'Serve other hosts without TLS, for example behind a TLS proxy.',
  },
  databaseUrl: {
    type: 'secret',
    description: 'Use this PostgreSQL (16 or newer) instead of the embedded one. Also DATABASE_URL.',
  },
  databaseConnectTimeoutS: {
    type: 'number',
    default: 10,
    min: 1,
    description: 'Seconds that a call waits for a connection to the database.',
  },
  databaseStatementTimeoutS: {
    type: 'number',
    default: 60,
    min: 1,
    description: 'Seconds that a statement of a call may take. Migrations are exempt.',
  },
  databaseLockTimeoutS: {
    type: 'number',
    default: 10,
    min: 1,
    description: 'Seconds that a statement waits for a lock of the database.',
  },
  webDir: { type: 'string', description: 'Folder of the built web app.' },
  acceptCopy: {
    type: 'boolean',
    default: false,
    description:
      'Start on a copy that was made while a server used the original, if all its files and rows pass a check.',
  },
  newKeys: {
    type: 'boolean',
    default: false,
    description:
      'Replace the first API key and the key of the runner beside the server, when they were lost, rotated or deleted.',
  },
  orgName: {
    type: 'string',
    default: 'My organization',
    description: 'Name of the organization that the first start creates.',
  },
  maxBlobMib: { type: 'number', default: 4096, min: 1, description: 'Largest file that may be stored, in MiB.' },
  orgLimitGib: {
    type: 'number',
    default: 0,
    min: 0,
    description:
      'GiB of files that one organization may store: images, model versions, scripts, and what it sent within a day. 0: no limit.',
  },
  logDays: { type: 'number', default: 30, min: 1, description: 'Days that log lines of machines are kept.' },
  logMibPerMachine: {
    type: 'number',
    default: 256,
    min: 1,
    description: 'MiB of log lines that are kept of one machine. The oldest go first.',
  },
  sampleDays: {
    type: 'number',
    default: 7,
    min: 1,
    max: 31,
    description: 'Days that the samples of what machines use are kept: about 50 KB a day and machine.',
  },
  liveMbPerDay: {
    type: 'number',
    default: 200,
    min: 0,
    description:
      'MB of live images that one machine may send in a day (UTC). Counted in memory: a restart of the server begins at 0. 0: no live views.',
  },
  jobLogDays: {
    type: 'number',
    default: 7,
    min: 1,
    description: 'Days that the log lines of a job are kept after its end.',
  },
  attemptDays: {
    type: 'number',
    default: 90,
    min: 1,
    description: 'Days that metrics and transitions of a job are kept after its end.',
  },
  auditDays: { type: 'number', default: 365, min: 1, description: 'Days that audit rows are kept.' },
  configRevisions: {
    type: 'number',
    default: 1000,
    min: 10,
    description:
      'Revisions of a configuration, and of a fragment, that are all kept. The last older revision of each day stays, too.',
  },
  unnamedFileHours: {
    type: 'number',
    default: 24,
    min: 1,
    description: 'Hours that a file stays on the disk after nothing names it any more. It is not served meanwhile.',
  },
  lowDiskGb: {
    type: 'number',
    min: 0,
    description:
      'GB that are free at least on the disk of the data folder before the server reports that it fills up. Absent: a tenth of the disk, from 1 to 20. 0: never.',
  },
  backupDir: {
    type: 'string',
    description: 'Folder for scheduled backups, on another disk than the data folder. Absent: no schedule.',
  },
  backupEveryHours: { type: 'number', default: 24, min: 0.001, description: 'Hours from one backup to the next.' },
  backupKeep: { type: 'number', default: 14, min: 1, description: 'Scheduled backups that are kept.' },
  backupByHost: {
    type: 'boolean',
    default: false,
    description:
      'A timer of the host makes the scheduled backups, and the server only reports them (install-service sets it).',
  },
  backupPassphrase: {
    type: 'secret',
    isVerbatim: true,
    description: 'Encrypts the keys of scheduled backups. Best as PLATFORM_BACKUP_PASSPHRASE.',
  },
  machineLinesPerS: {
    type: 'number',
    default: 1_000,
    min: 0,
    description:
      'Log lines a second of one machine, twenty times as many at once; a key has ten times as many. 0: no limit.',
  },
  machineCallsPerS: {
    type: 'number',
    default: 200,
    min: 0,
    description: 'Calls, downloads and config checks a second of one machine, ten times as many at once. 0: no limit.',
  },
  keyCallsPerS: {
    type: 'number',
    default: 1_000,
    min: 0,
    description:
      'Calls, uploads and downloads a second of one key, user or training attempt, ten times as many at once. 0: no limit.',
  },
  callerMibPerS: {
    type: 'number',
    default: 256,
    min: 0,
    description:
      'MiB a second that one caller sends in calls, uploads or downloads, sixteen times as many at once. 0: no limit.',
  },
  logLevel: {
    type: 'string',
    default: 'info',
    choices: ['debug', 'info', 'warn', 'error'],
    description: 'Least level of the log on stderr.',
  },
  logFormat: {
    type: 'string',
    default: 'text',
    choices: ['text', 'json'],
    description: 'Lines on stderr as text, or as one JSON object each.',
  },
  json: { type: 'boolean', default: false, description: 'The same as --log-format json.' },
  optionsFile: { type: 'string', description: 'JSON file with more options, in snake_case.' },
} as const;

export type CloudOptions = OptionValues<typeof table>;

export const cloudOptions = (argv: readonly string[], env: Record<string, string | undefined>): CloudOptions =>
  options(table, {
    program: 'platform-cloud',
    about: 'The management server. Prints one JSON line on stdout when it is ready.',
    argv,
    env: { ...env, PLATFORM_DATABASE_URL: env['PLATFORM_DATABASE_URL'] ?? env['DATABASE_URL'] },
    fileFrom: 'optionsFile',
  });
