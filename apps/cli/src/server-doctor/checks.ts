import { releasePlatforms } from '@platform/contract/releases/target-path';
import { formatBytes, formatDuration } from '@platform/kit';
import type {
  BlobsSeen,
  ChangeSeen,
  DatabaseSeen,
  DiskSeen,
  FileSeen,
  Observations,
  PublicUrlSeen,
  Validity,
} from './observations.ts';
import { type CheckResult, failed, note, ok, warning } from './results.ts';
import { serviceResults } from './unit-checks.ts';

const dayMs = 86_400_000;
const certificateDays = 14;
const documentDays = 7;
const mostAheadMs = 60_000;
const leastBytes = 256 * 2 ** 20;
const lowBytes = 2 * 2 ** 30;
const lowInodes = 0.02;
const oldestMajor = 16;
/** The server's own connections, with some for backups and administrators. */
const neededConnections = 40;
const defaultBackupHours = 24;

/** Evaluates the observations, in the order in which an administrator would check. */
export function checkResults(seen: Observations): CheckResult[] {
  return [
    ...accountResults(seen),
    serverResult(seen),
    ...serviceResults(seen.units, seen.change !== undefined),
    blobsResult(seen.blobs),
    ...seen.disks.flatMap(diskResults),
    ...permissionResults(seen.files),
    ...databaseResults(seen.database, seen.server.pid !== undefined),
    ...certificateResults(seen),
    ...publicUrlResults(seen),
    ...clockResults(seen),
    backupResult(seen),
    ...releaseResults(seen),
  ];
}

function accountResults({ isRoot, units }: Observations): CheckResult[] {
  if (isRoot || !units) return [];
  return [note('account', 'Without root, some of the installation cannot be seen. Run it again with sudo.')];
}

/** While an upgrade works, a start by hand would be in its way. */
function changeResult({ what, isRunning }: ChangeSeen): CheckResult {
  const why = 'The server is away until its end. Machines run on and come back by themselves.';
  return isRunning
    ? warning('server', `The server is not ready, because ${what} is in progress.`, {
        why,
        remedy: 'Wait for its end: journalctl -fu platform-management-switch shows each stage.',
      })
    : failed('server', `The server is not ready, because ${what} was interrupted.`, {
        why,
        remedy: 'Go on with it: systemctl start platform-management-switch. Do not start the server itself.',
      });
}

function serverResult(seen: Observations): CheckResult {
  const { server, health, change } = seen;
  const { pid, isInstalled, dataFolder } = server;
  const isReady = health !== undefined && !('problem' in health) && health.status === 200;
  if (change && !isReady) return changeResult(change);
  const log = isInstalled ? 'journalctl -u platform-management -n 50' : 'its output';
  if (pid === undefined)
    return failed('server', `The server of ${dataFolder} does not run. Only what needs no server was checked.`, {
      why: 'Machines run on, but get no changes; users cannot sign in.',
      remedy: isInstalled
        ? `Start it: systemctl start platform-management. If it ends again, see ${log}.`
        : 'Start it, and run the doctor again.',
    });
  if (!health)
    return note('server', `The server runs as process ${pid}. Its port is not known here: name it with --local-url.`);
  const why = 'Machines and users may get errors.';
  if ('problem' in health)
    return failed('server', `Process ${pid} does not answer at ${server.localUrl ?? ''}: ${health.problem}.`, {
      why,
      remedy: `Wait if it has just started; else see ${log}.`,
    });
  const lines = health.text.trim().split('\n').join('; ');
  if (health.status !== 200)
    return failed('server', `/readyz answers ${health.status}: ${lines}.`, { why, remedy: `See ${log}.` });
  return ok('server', `The server runs as process ${pid} and is ready.`);
}

function diskResults({ folder, freeBytes, sizeBytes, inodes, freeInodes }: DiskSeen): CheckResult[] {
  const free = `${formatBytes(freeBytes)} of ${formatBytes(sizeBytes)} are free for ${folder}`;
  const why = 'On a full disk the database stops and uploads fail.';
  const remedy = 'Make room on that disk, or enlarge it. docs/operations/retention.md says what is kept how long.';
  const bytes =
    freeBytes < leastBytes
      ? failed('disk', `${free}.`, { why, remedy })
      : freeBytes < lowBytes
        ? warning('disk', `${free}.`, { why, remedy })
        : ok('disk', `${free}.`);
  if (inodes === 0 || freeInodes / inodes >= lowInodes) return [bytes];
  const report = freeInodes === 0 ? failed : warning;
  return [bytes, report('inodes', `${freeInodes} of ${inodes} inodes are free for ${folder}.`, { why, remedy })];
}

function blobsResult(seen: BlobsSeen): CheckResult {
  const why = 'Images, models and programs cannot be read, and new files would go to the wrong disk.';
  if ('problem' in seen)
    return warning('files', `The folder of the files could not be checked: ${seen.problem}.`, {
      why,
      remedy: 'Run the doctor again as root, or as the user of the server.',
    });
  const { folder, mark, files } = seen;
  const remedy = `Mount the disk with the files at ${folder}. If these are the files, or if they are lost for good: platform admin doctor --adopt-blobs.`;
  if (mark !== 'own') {
    const says = mark === 'missing' ? 'does not say whose files it holds' : 'holds the files of another installation';
    return failed('files', `${folder} ${says}. The server does not start on it.`, { why, remedy });
  }
  if (!files) return ok('files', `${folder} is that of this installation; its files were not looked for.`);
  const { sampled, named, missing } = files;
  const counted = `Of ${named} files that the database names, ${sampled} were looked for`;
  if (missing.length === 0) return ok('files', `${counted}; all are there.`);
  return failed('files', `${counted}; ${missing.length} are missing, for example ${missing[0]}.`, {
    why,
    remedy:
      'Check the disk. platform admin restore brings them back from a backup; platform admin backup names all of them.',
  });
}

const bits = (mode: number): string => mode.toString(8).padStart(3, '0');

function permissionResults(files: readonly FileSeen[]): CheckResult[] {
  const open = files.filter(({ mode, forbidden }) => (mode & forbidden) !== 0);
  const foreign = files.filter(({ isOwned }) => !isOwned);
  const results = [
    ...open.map(({ path, mode, forbidden }) =>
      failed('permissions', `${path} is open to other users (mode ${bits(mode)}).`, {
        why: 'They can read keys or data of machines and users.',
        remedy: `Close it: chmod ${bits(mode & ~forbidden)} '${path}'. If others could sign in here, replace the keys, too.`,
      }),
    ),
    ...foreign.map(({ path }) =>
      failed('permissions', `${path} belongs to another user than the server's.`, {
        why: 'The server cannot read or write it.',
        remedy: `Give it back: chown -R platform-management: '${path}'`,
      }),
    ),
  ];
  return results.length > 0 ? results : [ok('permissions', 'Data and keys are closed to other users.')];
}

function databaseResults(seen: DatabaseSeen, isServerRunning: boolean): CheckResult[] {
  if (seen.is === 'stopped' && !isServerRunning)
    return [note('database', 'The embedded database is stopped with its server; its settings were not checked.')];
  const why = 'Without its database the server answers nothing.';
  if (seen.is !== 'running') {
    const problem = { absent: 'is not in the data folder', stopped: 'does not run', silent: '' }[seen.is];
    const says = seen.is === 'silent' ? `does not answer: ${seen.problem}` : problem;
    const remedy =
      seen.is === 'absent'
        ? 'If the server uses a database of its own, set DATABASE_URL as for the server. Else restore a backup.'
        : 'See postgres.log beside the database, or the log of your own database.';
    return [failed('database', `The database ${says}.`, { why, remedy })];
  }
  const settings = databaseSettings(seen);
  const { version, used_connections: used, max_connections: max } = seen;
  return settings.length > 0
    ? settings
    : [ok('database', `PostgreSQL ${version}, ${used} of ${max} connections in use; it survives a power cut.`)];
}

function databaseSettings(seen: Extract<DatabaseSeen, { is: 'running' }>): CheckResult[] {
  const say = (says: string, why: string, remedy: string): CheckResult => failed('database', says, { why, remedy });
  const isOff = (name: 'fsync' | 'full_page_writes'): CheckResult[] =>
    seen[name] === 'on'
      ? []
      : [
          say(
            `Its setting ${name} is ${seen[name]}.`,
            'A power cut can destroy the database.',
            `Turn it on: alter system set ${name} = on; select pg_reload_conf()`,
          ),
        ];
  const isOld = seen.number < oldestMajor * 10_000;
  return [
    ...(isOld
      ? [
          say(
            `It is PostgreSQL ${seen.version}; this version needs ${oldestMajor} or newer.`,
            'Statements of the server fail.',
            'Upgrade that database.',
          ),
        ]
      : []),
    ...isOff('fsync'),
    ...isOff('full_page_writes'),
    ...(seen.read_only === 'on'
      ? [
          say(
            'It is read-only.',
            'Nothing can be saved.',
            'Use the primary, or set default_transaction_read_only = off.',
          ),
        ]
      : []),
    ...(seen.max_connections < neededConnections
      ? [
          say(
            `It takes ${seen.max_connections} connections (max_connections); the server needs ${neededConnections}.`,
            'Under load, calls fail because no connection is left.',
            `Set max_connections = ${neededConnections} or more, and restart that database.`,
          ),
        ]
      : []),
  ];
}

const date = (ms: number): string => new Date(ms).toISOString().slice(0, 16).replace('T', ' ');

/** Dates and names of a certificate, on the disk or as it is served. */
function validityResults(of: Validity, what: string, remedy: string, now: number): CheckResult[] {
  const why = 'Machines and browsers refuse the connection.';
  const host =
    of.isForHost === false
      ? [
          failed('certificate', `${what} is not for the host of the public URL: it is for ${of.names}.`, {
            why,
            remedy: `Get one with that name. ${remedy}`,
          }),
        ]
      : [];
  if (of.until < now)
    return [...host, failed('certificate', `${what} expired on ${date(of.until)} UTC.`, { why, remedy })];
  if (of.from > now)
    return [
      ...host,
      failed('certificate', `${what} is not valid before ${date(of.from)} UTC.`, {
        why,
        remedy: `Check the clock of this host. ${remedy}`,
      }),
    ];
  if (of.until - now > certificateDays * dayMs) return host;
  return [
    ...host,
    warning('certificate', `${what} expires on ${date(of.until)} UTC.`, {
      why: 'After that day, machines and browsers refuse the connection.',
      remedy,
    }),
  ];
}

function certificateResults({ certificate, now, server }: Observations): CheckResult[] {
  if (!certificate) {
    const isAway = server.pid === undefined && !server.isInstalled;
    return [
      note(
        'certificate',
        isAway
          ? 'The certificate of a stopped server is not known: name it with --tls-cert and --tls-key.'
          : 'The server has none: it speaks plain HTTP, for this host or a proxy.',
      ),
    ];
  }
  const { file } = certificate;
  const renew = 'Renew it: docs/operations/certificates.md. The server uses a renewed file without a restart.';
  if ('problem' in certificate)
    return [
      failed('certificate', `${file} cannot be used: ${certificate.problem}.`, {
        why: 'The server does not start with it.',
        remedy: renew,
      }),
    ];
  const found = validityResults(certificate, file, renew, now);
  if (!certificate.isOfKey)
    found.push(
      failed('certificate', `The key beside ${file} belongs to another certificate.`, {
        why: 'The server does not start with them.',
        remedy: 'Give it the certificate and the key of one renewal.',
      }),
    );
  if (certificate.missingIssuer !== undefined)
    found.push(
      failed(
        'certificate',
        `The chain in ${file} is not complete: the certificate of ${certificate.missingIssuer} is missing.`,
        {
          why: 'Browsers may find it elsewhere; machines refuse the connection.',
          remedy:
            'Use the file with the full chain (of Let’s Encrypt: fullchain.pem). Name an authority of your own with --tls-authority.',
        },
      ),
    );
  return found.length > 0
    ? found
    : [ok('certificate', `${file} is valid until ${date(certificate.until)} UTC, with its key and chain.`)];
}

function publicUrlResults({ publicUrl: seen, certificate, now, server }: Observations): CheckResult[] {
  if (!seen) {
    const isAway = server.pid === undefined && !server.isInstalled;
    return [
      note(
        'public URL',
        isAway
          ? 'The public URL of a stopped server is not known: name it with --public-url.'
          : 'There is none: only this host reaches the server by name.',
      ),
    ];
  }
  const own = certificate && !('problem' in certificate) ? certificate : undefined;
  const isProxy = seen.certificate && (seen.certificate.until !== own?.until || seen.certificate.names !== own.names);
  return [
    reachResult(seen, server.pid !== undefined),
    ...(seen.certificate && isProxy
      ? validityResults(
          seen.certificate,
          `The certificate at ${seen.url}`,
          'Renew it where it is served: in the proxy, or restart what serves an older file.',
          now,
        )
      : []),
    ...(seen.certificate &&
    seen.certificate.distrust !== '' &&
    seen.certificate.until >= now &&
    seen.certificate.from <= now &&
    seen.certificate.isForHost !== false
      ? [
          note(
            'public URL',
            `This host does not trust the certificate there (${seen.certificate.distrust}). That is normal for an authority of your own that machines are given.`,
          ),
        ]
      : []),
  ];
}

function reachResult({ url, leadsTo, problem }: PublicUrlSeen, isRunning: boolean): CheckResult {
  if (leadsTo === 'this') return ok('public URL', `${url} leads to this server.`);
  if (leadsTo === 'other')
    return failed('public URL', `${url} leads to another server.`, {
      why: 'Machines would register there and never be seen here.',
      remedy: 'Check the DNS name and the proxy, or change it with --public-url.',
    });
  if (leadsTo === 'unknown') {
    const because = isRunning ? problem : 'the server does not run';
    return note('public URL', `${url} answers; whether it leads here is not known: ${because}.`);
  }
  if (!isRunning) return note('public URL', `${url} does not answer, as the server does not run.`);
  return failed('public URL', `${url} does not answer from this host: ${problem}.`, {
    why: 'Machines and users come by this URL.',
    remedy:
      'Check the name, the port, the firewall and the proxy. If the name leads here only from outside, check it from there.',
  });
}

function clockResults({ isClockSynchronized, database, publicUrl }: Observations): CheckResult[] {
  const others: [name: string, ms: number | undefined][] = [
    ['the database', database.is === 'running' ? database.ahead_ms : undefined],
    [publicUrl?.url ?? '', publicUrl?.aheadMs],
  ];
  const why = 'With a wrong clock certificates, tokens and signed documents are refused, and times in logs mislead.';
  const remedy = 'Let both hosts follow a time server: timedatectl set-ntp true';
  const found = others.flatMap(([name, ms]) => {
    if (ms === undefined || Math.abs(ms) <= mostAheadMs) return [];
    const direction = ms > 0 ? 'ahead of' : 'behind';
    const by = formatDuration(Math.abs(ms) / 1000);
    return [failed('clock', `The clock of this host is ${by} ${direction} that of ${name}.`, { why, remedy })];
  });
  if (isClockSynchronized === false)
    found.push(
      warning('clock', 'No time server synchronizes the clock of this host.', {
        why,
        remedy: 'Turn it on: timedatectl set-ntp true. In a container, the host must do it.',
      }),
    );
  if (found.length > 0) return found;
  const compared = others.filter(([, ms]) => ms !== undefined).map(([name]) => name);
  if (compared.length === 0) return [note('clock', 'There is nothing to compare the clock with.')];
  return [ok('clock', `The clock agrees with ${compared.join(' and ')}.`)];
}

/** Time servers correct a clock by less. */
const clockSkewMs = 60_000;

function backupResult({ lastBackup, now, server }: Observations): CheckResult {
  const why = 'The loss of the disk would be the loss of all that was made since.';
  const remedy = 'Make one: platform admin backup DIR, or a schedule with --backup-dir (docs/operations/backup.md).';
  if (lastBackup === undefined) return warning('backup', 'There is no backup yet.', { why, remedy });
  const { backup_every_hours: every } = server.options;
  const hours = typeof every === 'number' ? every : defaultBackupHours;
  if (lastBackup > now + clockSkewMs)
    return warning('backup', `The newest backup is of ${date(lastBackup)} UTC, which is in the future.`, {
      why: `${why} The clock was wrong then, or is wrong now, so nothing shows how old it is.`,
      remedy,
    });
  const age = `The newest backup is ${formatDuration((now - lastBackup) / 1000)} old`;
  if (now - lastBackup > 2 * hours * 3_600_000) return warning('backup', `${age}.`, { why, remedy });
  return ok('backup', `${age}.`);
}

function releaseResults({ releases, now, server }: Observations): CheckResult[] {
  if (!releases)
    return server.pid === undefined ? [note('releases', 'They were not checked: the server does not run.')] : [];
  const again = server.isInstalled
    ? 'systemctl start platform-management-maintenance publishes and signs again; its log says what is in the way.'
    : 'The next start publishes and signs again; docs/releases.md says how to do it by hand.';
  const why = 'Machines without a valid signed release cannot be installed or updated.';
  if ('problem' in releases)
    return [failed('releases', `No signed releases were found: ${releases.problem}.`, { why, remedy: again })];
  const wanted = ['platform-agent', 'platform-server'].flatMap((name) =>
    releasePlatforms.map((one) => `${name} ${one}`),
  );
  const missing = wanted.filter((one) => !releases.programs.includes(one));
  const found = releases.documents.flatMap(({ name, expires }): CheckResult[] => {
    if (expires < now)
      return [
        failed('releases', `The signed ${name} document expired on ${date(expires)} UTC.`, { why, remedy: again }),
      ];
    const isSoon = (name === 'root' || name === 'targets') && expires - now < documentDays * dayMs;
    return isSoon
      ? [warning('releases', `The signed ${name} document expires on ${date(expires)} UTC.`, { why, remedy: again })]
      : [];
  });
  if (missing.length > 0)
    found.push(
      warning('releases', `No signed release of ${missing.join(', ')}.`, {
        why: 'Machines of that platform cannot be installed.',
        remedy: again,
      }),
    );
  const first = Math.min(
    ...releases.documents.filter(({ name }) => name === 'root' || name === 'targets').map(({ expires }) => expires),
  );
  return found.length > 0
    ? found
    : [ok('releases', `All platforms have signed releases; their documents are valid until ${date(first)} UTC.`)];
}
