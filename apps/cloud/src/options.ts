import { options, type OptionValues } from '@platform/kit/node';
import { usualLimits } from './wire/visitors.ts';

const table = {
  dataDir: {
    type: 'string',
    default: '.platform',
    description: 'Folder for the database, files and secrets of this server.',
  },
  host: { type: 'string', default: '127.0.0.1', description: 'IP address to listen on.' },
  port: { type: 'number', default: 8080, min: 0, max: 65_535, description: 'Port to listen on. 0: any free port.' },
  metricsPort: {
    type: 'number',
    min: 0,
    max: 65_535,
    description: 'Port on 127.0.0.1 that serves /metrics (OpenMetrics) without a key. 0: any free port. Default: none.',
  },
  publicUrl: {
    type: 'string',
    description: 'URL by which users and machines reach this server, if it is behind a proxy.',
  },
  trustedProxy: {
    type: 'string',
    description:
      'Comma-separated addresses and networks of proxies in front of this server: 10.0.0.1,10.1.0.0/16. The server takes the address of a client from their headers.',
  },
  connectionsPerAddress: {
    type: 'number',
    default: usualLimits.ofAddress,
    min: 1,
    description:
      'Maximum concurrent connections of unauthenticated callers from one IP address (IPv6: from a /64; twice as many from a /56, four times from a /48).',
  },
  unprovenCallsPerS: {
    type: 'number',
    default: 50,
    min: 0,
    description:
      'Maximum calls and pages per second from one IP address without valid credentials (IPv6: from a /64; twice as many from a /56, four times from a /48). Bursts may be twelve times as large. The limit is four times as high at an address with a known caller. 0: no limit.',
  },
  tlsCert: { type: 'string', description: 'TLS certificate with its chain (PEM file). Enables TLS on the same port.' },
  tlsKey: { type: 'string', description: 'Private key of the TLS certificate (PEM file).' },
  tlsAuthority: {
    type: 'string',
    description:
      'Certificate of your own authority (PEM file), if machines do not trust it yet. The install command and credentials files contain it. Not needed if --tls-cert includes it.',
  },
  tlsKnownAuthority: {
    type: 'string',
    description:
      'Certificate of an authority (PEM file) that all your machines and browsers already trust, such as that of your company. It is not distributed, and browsers must use TLS (HSTS).',
  },
  allowPlaintext: {
    type: 'boolean',
    default: false,
    description: 'Allow other hosts to connect without TLS, for example behind a TLS proxy.',
  },
  databaseUrl: {
    type: 'secret',
    description: 'URL of a PostgreSQL (16 or newer) to use instead of the embedded one (DATABASE_URL).',
  },
  databaseConnectTimeoutS: {
    type: 'number',
    default: 10,
    min: 1,
    description: 'Maximum seconds that a call waits for a connection to the database.',
  },
  databaseStatementTimeoutS: {
    type: 'number',
    default: 60,
    min: 1,
    description: 'Time limit of a database statement of a call, in seconds. Migrations are exempt.',
  },
  databaseLockTimeoutS: {
    type: 'number',
    default: 10,
    min: 1,
    description: 'Maximum seconds that a database statement waits for a lock.',
  },
  webDir: { type: 'string', description: 'Folder of the built web app.' },
  acceptCopy: {
    type: 'boolean',
    default: false,
    description:
      'Start with a copy of the data folder that was made while a server used the original, if all its files and rows pass a check.',
  },
  newKeys: {
    type: 'boolean',
    default: false,
    description:
      'Replace the first API key and the key of the runner on this host, if they were lost, rotated or deleted.',
  },
  orgName: {
    type: 'string',
    default: 'My organization',
    description: 'Name of the organization that the first start creates.',
  },
  maxBlobMib: { type: 'number', default: 4096, min: 1, description: 'Maximum size of a stored file, in MiB.' },
  orgLimitGib: {
    type: 'number',
    default: 0,
    min: 0,
    description:
      'Maximum GiB of files of one organization: images, model versions, scripts, and uploads of the last day. 0: no limit.',
  },
  logDays: { type: 'number', default: 30, min: 1, description: 'Days to keep log lines of machines.' },
  logMibPerMachine: {
    type: 'number',
    default: 256,
    min: 1,
    description: 'Maximum MiB of log lines of one machine. The oldest lines are deleted first.',
  },
  sampleDays: {
    type: 'number',
    default: 7,
    min: 1,
    max: 31,
    description: 'Days to keep resource usage samples of machines, about 50 KB per machine and day.',
  },
  liveMbPerDay: {
    type: 'number',
    default: 200,
    min: 0,
    description:
      'Maximum MB of live images that one machine may send per day (UTC). A restart of the server resets the count. 0: no live views.',
  },
  jobLogDays: {
    type: 'number',
    default: 7,
    min: 1,
    description: 'Days to keep the log lines of a job after its end.',
  },
  attemptDays: {
    type: 'number',
    default: 90,
    min: 1,
    description: 'Days to keep the metrics and transitions of a job after its end.',
  },
  auditDays: { type: 'number', default: 365, min: 1, description: 'Days to keep audit entries.' },
  configRevisions: {
    type: 'number',
    default: 1000,
    min: 10,
    description:
      'Number of newest revisions to keep of each configuration and fragment. The last older revision of each day is kept, too.',
  },
  unnamedFileHours: {
    type: 'number',
    default: 24,
    min: 1,
    description: 'Hours to keep an unreferenced file on the disk. It is not served during this time.',
  },
  lowDiskGb: {
    type: 'number',
    min: 0,
    description:
      'GB that are free at least on the disk of the data folder before the server reports that it fills up. Absent: a tenth of the disk, from 1 to 20. 0: never.',
  },
  backupDir: {
    type: 'string',
    description: 'Folder for scheduled backups, on another disk than the data folder. Default: no scheduled backups.',
  },
  backupEveryHours: { type: 'number', default: 24, min: 0.001, description: 'Hours between two backups.' },
  backupKeep: { type: 'number', default: 14, min: 1, description: 'Number of scheduled backups to keep.' },
  backupByHost: {
    type: 'boolean',
    default: false,
    description:
      'A timer of the host makes the scheduled backups; the server only reports them. install-service sets this option.',
  },
  backupPassphrase: {
    type: 'secret',
    isVerbatim: true,
    description:
      'Passphrase that encrypts the keys of scheduled backups. Preferably set PLATFORM_BACKUP_PASSPHRASE instead.',
  },
  machineLinesPerS: {
    type: 'number',
    default: 1_000,
    min: 0,
    description:
      'Maximum log lines per second of one machine, in bursts twenty times as many; ten times as many per API key. 0: no limit.',
  },
  machineCallsPerS: {
    type: 'number',
    default: 200,
    min: 0,
    description:
      'Maximum calls, downloads and configuration checks per second of one machine, in bursts ten times as many. 0: no limit.',
  },
  keyCallsPerS: {
    type: 'number',
    default: 1_000,
    min: 0,
    description:
      'Maximum calls, uploads and downloads per second of one API key, user or training attempt, in bursts ten times as many. 0: no limit.',
  },
  callerMibPerS: {
    type: 'number',
    default: 256,
    min: 0,
    description:
      'Maximum MiB per second that one caller sends in calls, uploads or downloads, in bursts sixteen times as many. 0: no limit.',
  },
  logLevel: {
    type: 'string',
    default: 'info',
    choices: ['debug', 'info', 'warn', 'error'],
    description: 'Minimum level of the log on stderr.',
  },
  logFormat: {
    type: 'string',
    default: 'text',
    choices: ['text', 'json'],
    description: 'Format of the log on stderr: text, or one JSON object per line.',
  },
  json: { type: 'boolean', default: false, description: 'Same as --log-format json.' },
  optionsFile: { type: 'string', description: 'JSON file with options in snake_case.' },
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
