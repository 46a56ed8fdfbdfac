// The administration of a server's data, as a program of its own: `platform admin …` starts it.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors/errors';
import { createLog, errorText, formatBytes } from '@platform/kit';
import { onSignals, options, type OptionValues, stderrSink, systemClock, Usage } from '@platform/kit/node';
import type { Damage } from './backup/backup-folder.ts';
import { adoptBlobs, inspectBlobs } from './backup/blob-check.ts';
import { reachDatabase } from './backup/database-access.ts';
import { databaseState } from './backup/database-state.ts';
import { noteFailure, readBackupNote } from './backup/backup-note.ts';
import { isDue } from './backup/rules/next-backup.ts';
import { makeBackup, type Work } from './backup/make-backup.ts';
import { restoreBackup } from './backup/restore.ts';
import { readBackupKey, readTrustedKeys, writeKeyFile } from './backup/manifest-mac.ts';
import { verifyBackup } from './backup/verify.ts';
import { deleteOldDatabases, upgradeDatabase } from './database-upgrade/upgrade-database.ts';

const shared = {
  words: { type: 'rest', words: 'DIR', description: 'Folder of the backups.' },
  json: { type: 'boolean', default: false, description: 'Print one JSON document on stdout.' },
} as const;
const data = {
  dataDir: { type: 'string', default: '.platform', description: 'Data folder of the server or of npm start.' },
  databaseUrl: {
    type: 'secret',
    description: 'URL of the PostgreSQL of the server, if it does not use the embedded one (DATABASE_URL).',
  },
  backupPassphrase: {
    type: 'secret',
    isVerbatim: true,
    description:
      'Passphrase that encrypts and decrypts the keys of the backup. Preferably set PLATFORM_BACKUP_PASSPHRASE instead.',
  },
} as const;
const trust = {
  backupKey: { type: 'string', description: 'Key file that authenticates backups of the installation.' },
  hostKey: { type: 'string', description: 'Key file of the server on this host; used if it exists.' },
} as const;
const snapshot = { type: 'string', description: 'Name or number of the snapshot (default: the newest).' } as const;

const tables = {
  backup: {
    ...shared,
    ...data,
    keep: { type: 'number', min: 1, description: 'Number of newest snapshots to keep; older ones are removed.' },
    keysTo: { type: 'string', description: 'File for the keys, separate from the rest of the backup.' },
    everyHours: {
      type: 'number',
      min: 0.001,
      description:
        'For a timer: back up only if the newest backup is older than this number of hours, and record a failure for the server.',
    },
  },
  restore: {
    ...shared,
    ...data,
    snapshot,
    keys: { type: 'string', description: 'File with the keys, if they are separate from the rest of the backup.' },
    ...trust,
    acceptDamaged: { type: 'boolean', default: false, description: 'Restore without damaged files.' },
    acceptUnauthenticated: {
      type: 'boolean',
      default: false,
      description: 'Restore even if the backup cannot be authenticated.',
    },
  },
  verify: {
    ...shared,
    snapshot: { ...snapshot, description: 'Name or number of the snapshot to verify (default: all).' },
    keys: { type: 'string', description: 'File with the keys, if they are separate from the rest of the backup.' },
    ...trust,
  },
  'backup-key': {
    ...shared,
    words: { type: 'rest', words: 'FILE', description: 'Path of the new key file.' },
    dataDir: data.dataDir,
  },
  'upgrade-database': {
    json: shared.json,
    dataDir: data.dataDir,
    oldPrograms: {
      type: 'string',
      description: 'Folder of the platform version that wrote the database, or of its PostgreSQL.',
    },
    deleteOld: {
      type: 'boolean',
      default: false,
      description: 'Delete the databases that earlier upgrades kept, and upgrade nothing.',
    },
  },
  database: { json: shared.json, dataDir: data.dataDir, databaseUrl: data.databaseUrl },
  blobs: {
    json: shared.json,
    dataDir: data.dataDir,
    databaseUrl: data.databaseUrl,
    markOnly: {
      type: 'boolean',
      default: false,
      description: 'Check only the mark of the folder, not the files that the database names.',
    },
    adopt: { type: 'boolean', default: false, description: 'Mark the folder as belonging to this installation.' },
    acceptMissing: { type: 'boolean', default: false, description: 'With --adopt: accept missing files.' },
  },
} as const;
type Name = keyof typeof tables;
type Given<N extends Name> = OptionValues<(typeof tables)[N]>;

const about: Record<Name, string> = {
  backup: 'Adds a snapshot of database, files and keys to DIR, while the server runs or not.',
  restore: 'Restores a snapshot of DIR into a new or empty data folder.',
  verify: 'Reads every file of the backups in DIR and compares its hash.',
  'backup-key': 'Writes the key file that proves which backups the installation made.',
  'upgrade-database': 'Brings the embedded database of a stopped server to the PostgreSQL of this version.',
  database: 'Says what the database is, if it runs: for platform admin doctor.',
  blobs: 'Says whether the files of the installation are in its data folder: for platform admin doctor.',
};

/** What a command prints: a document, and the same as text. */
type Printed = { document: object; text: string[]; error?: PlatformError };

/** The folder of the server itself: that of `npm start` has it in `cloud`. */
const serverFolder = (dataDir: string): string => {
  const inside = path.join(dataDir, 'cloud');
  const isInside = !existsSync(path.join(dataDir, 'secrets.json')) && existsSync(path.join(inside, 'secrets.json'));
  return path.resolve(isInside ? inside : dataDir);
};

const folderOf = ({ words }: { words: string[] }, name: Name): string => {
  if (words.length === 1 && words[0] !== undefined) return path.resolve(words[0]);
  const [kind, word] = name === 'backup-key' ? ['file', 'FILE'] : ['folder', 'DIR'];
  throw new Usage(`Give one ${kind}: platform admin ${name} ${word}. See platform admin ${name} --help.`, 2);
};

async function backup(given: Given<'backup'>, work: Work): Promise<Printed> {
  const { everyHours } = given;
  const dataFolder = serverFolder(given.dataDir);
  if (everyHours === undefined) return makeOne(given, dataFolder, work);
  const { clock } = work;
  const { at: last } = await readBackupNote(dataFolder);
  if (!isDue({ everyMs: everyHours * 3_600_000, last, now: clock.wall() }))
    return {
      document: { due: false },
      text: [`No backup is due: the newest is of ${new Date(last ?? 0).toISOString()}.`],
    };
  try {
    const made = await makeOne(given, dataFolder, work);
    if (made.error) await noteFailure(dataFolder, made.error.message, clock);
    return made;
  } catch (error) {
    await noteFailure(dataFolder, errorText(error), clock).catch(() => {});
    throw error;
  }
}

async function makeOne(given: Given<'backup'>, dataFolder: string, work: Work): Promise<Printed> {
  const folder = folderOf(given, 'backup');
  await using reached = await reachDatabase({ dataFolder, databaseUrl: given.databaseUrl?.reveal(), ...work });
  const passphrase = given.backupPassphrase?.reveal();
  const keysTo = given.keysTo === undefined ? undefined : path.resolve(given.keysTo);
  const { connection } = reached;
  const made = await makeBackup({ folder, dataFolder, connection, keep: given.keep, passphrase, keysTo }, work);
  const first = made.damaged[0];
  const text = [
    `Snapshot ${made.name} in ${folder}: ${made.rows} rows, ${made.files} files of ${formatBytes(made.bytes)}, ${made.copiedFiles} of them new.`,
    ...(passphrase === undefined ? ['Its keys are not encrypted: whoever reads them can sign in as any user.'] : []),
    ...made.unreadKeys.map(
      (keys) => `The keys in ${keys} are not in it: this user may not read them. Run the command as root.`,
    ),
    ...(made.removed.length > 0 ? [`Removed ${made.removed.join(', ')}.`] : []),
    ...made.damaged.map(({ file, problem }) => `damaged: ${file}: ${problem}`),
  ];
  const error =
    first && new PlatformError('BACKUP_SOURCE_DAMAGED', { name: made.name, count: made.damaged.length, ...first });
  return { document: made, text, ...(error && { error }) };
}

async function restore(given: Given<'restore'>, work: Work): Promise<Printed> {
  const folder = folderOf(given, 'restore');
  const { snapshot: wanted, keys, acceptDamaged, acceptUnauthenticated } = given;
  const databaseUrl = given.databaseUrl?.reveal();
  const trusted = await readTrustedKeys(given);
  const choices = { acceptDamaged, acceptUnauthenticated, trusted };
  const of = { folder, snapshot: wanted, keys, databaseUrl, dataDir: path.resolve(given.dataDir), ...choices };
  const made = await restoreBackup({ ...of, passphrase: given.backupPassphrase?.reveal() }, work);
  const text = [
    `Restored snapshot ${made.name} into ${made.dataFolder}: ${made.rows} rows, ${made.files} files.`,
    ...(made.migrated.length > 0 ? [`The schema was brought up to date: ${made.migrated.join(', ')}.`] : []),
    ...made.damaged.map(({ file, problem }) => `left out: ${file}: ${problem}`),
    'Start the server under the URL that machines know. They come back by themselves.',
  ];
  return { document: made, text };
}

async function verify(given: Given<'verify'>, work: Work): Promise<Printed> {
  const folder = folderOf(given, 'verify');
  const trusted = await readTrustedKeys(given);
  const found = await verifyBackup({ folder, snapshot: given.snapshot, keys: given.keys, trusted }, work);
  const [first, ...more] = found.damaged;
  const text = [
    ...found.snapshots.map(
      (one) => `${one.name}  version ${one.version}  ${one.rows} rows  ${one.files} files  ${formatBytes(one.bytes)}`,
    ),
    ...found.keysElsewhere.map(
      (name) => `The keys of ${name} are kept elsewhere; name them with --keys to check them.`,
    ),
    ...found.withoutMac.map((name) => `${name} has no MAC: nothing proves who made it. Every backup is made with one.`),
    ...found.notAuthenticated.map(
      (name) => `The MAC of ${name} was not checked: name the key file of its installation with --backup-key.`,
    ),
    ...found.damaged.map(({ file, problem }) => `damaged: ${file}: ${problem}`),
    ...(first ? [] : [`All ${found.files} files are as they were written.`]),
  ];
  return { document: found, text, ...(first && { error: damagedError(first, more.length) }) };
}

async function backupKey(given: Given<'backup-key'>): Promise<Printed> {
  const file = folderOf(given, 'backup-key');
  const dataFolder = serverFolder(given.dataDir);
  const isNew = await writeKeyFile(file, await readBackupKey(dataFolder));
  const text = isNew
    ? `${file} proves which backups this installation made. Keep a copy away from this host and from the backups.`
    : `${file} is the key file of this installation already.`;
  return { document: { file, written: isNew }, text: [text] };
}

async function upgrade(given: Given<'upgrade-database'>, work: Work): Promise<Printed> {
  const dataFolder = serverFolder(given.dataDir);
  if (given.deleteOld) {
    const deleted = await deleteOldDatabases(dataFolder);
    return {
      document: { deleted },
      text: deleted.length > 0 ? deleted.map((one) => `Deleted ${one}.`) : ['None is kept.'],
    };
  }
  const made = await upgradeDatabase({ dataFolder, oldPrograms: given.oldPrograms }, work);
  const text = [
    made.isResumed
      ? `The database is of PostgreSQL ${made.to}: an upgrade that was cut off has its end now.`
      : `The database is of PostgreSQL ${made.to}: ${made.tables} tables with ${made.rows} rows are the same as in that of ${made.from}.`,
    `The old one is kept in ${made.kept}. Start the server; then platform admin upgrade-database --delete-old deletes it.`,
  ];
  return { document: made, text };
}

async function database(given: Given<'database'>, { clock }: Work): Promise<Printed> {
  const of = { dataFolder: serverFolder(given.dataDir), databaseUrl: given.databaseUrl?.reveal() };
  const document = await databaseState(of, clock);
  return { document, text: [document.is] };
}

async function blobs(given: Given<'blobs'>, work: Work): Promise<Printed> {
  const of = { dataFolder: serverFolder(given.dataDir), databaseUrl: given.databaseUrl?.reveal(), ...work };
  const found = given.adopt ? await adoptBlobs(of, given.acceptMissing) : await inspectBlobs(of, !given.markOnly);
  const { folder, mark, files } = found;
  const counted = files && ` ${files.sampled - files.missing.length} of ${files.sampled} files looked for are there.`;
  return { document: found, text: [`${folder}: the mark is ${mark}.${counted ?? ''}`] };
}

const damagedError = ({ file, problem }: Damage, more: number): PlatformError =>
  new PlatformError('BACKUP_DAMAGED', { file, problem: more === 0 ? problem : `${problem}; and ${more} more` });

/** Field names of documents are in snake_case, as everywhere. */
const snakeCase = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(snakeCase);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`), snakeCase(one)]),
  );
};

function read<N extends Name>(name: N, argv: readonly string[]): Given<N> {
  const { env } = process;
  return options(tables[name], {
    program: `platform admin ${name} DIR`,
    about: about[name],
    argv,
    env: { ...env, PLATFORM_JSON: '', PLATFORM_DATABASE_URL: env['PLATFORM_DATABASE_URL'] ?? env['DATABASE_URL'] },
  });
}

const commands: { readonly [N in Name]: (given: Given<N>, work: Work) => Promise<Printed> } = {
  backup,
  restore,
  verify,
  'backup-key': backupKey,
  'upgrade-database': upgrade,
  database,
  blobs,
};
const isName = (name: string): name is Name => Object.hasOwn(commands, name);

async function runOne<N extends Name>(name: N, argv: readonly string[], work: Work) {
  const given = read(name, argv);
  return { ...(await commands[name](given, work)), json: given.json };
}

async function run([name = '', ...argv]: readonly string[], work: Work): Promise<Printed & { json: boolean }> {
  if (isName(name)) return runOne(name, argv, work);
  throw new Usage(`Unknown command "${name}". There are: ${Object.keys(tables).join(', ')}.`, 2);
}

async function main(): Promise<number> {
  const argv = process.argv.slice(2);
  const isJson = argv.includes('--json');
  // Steps that went well are not part of the answer; PLATFORM_LOG_LEVEL=info shows them.
  const level = process.env['PLATFORM_LOG_LEVEL'] === 'info' ? 'info' : 'warn';
  const log = createLog({ name: 'admin', clock: systemClock, level, sink: stderrSink('text') });
  try {
    const { document, text, json, error } = await run(argv, { clock: systemClock, log, signal: onSignals() });
    process.stdout.write(json ? `${JSON.stringify(snakeCase(document))}\n` : `${text.join('\n')}\n`);
    if (error) throw error;
    return 0;
  } catch (error) {
    if (error instanceof Usage) {
      process.stderr.write(`${error.message}\n`);
      return error.exitCode;
    }
    if (error instanceof PlatformError && isJson) {
      const { code, what, remedy } = error;
      process.stderr.write(`${JSON.stringify({ error: { code, what, remedy } })}\n`);
    } else process.stderr.write(`${error instanceof PlatformError ? error.message : errorText(error)}\n`);
    return 1;
  }
}

process.exitCode = await main();
process.exit();
