import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkResults } from './checks.ts';
import type { DatabaseSeen, Observations, PublicUrlSeen, UnitSeen } from './observations.ts';
import { isFinding } from './results.ts';

const now = Date.parse('2026-11-25T12:00:00Z');
const day = 86_400_000;
const validity = { from: now - day, until: now + 60 * day, names: 'a.example', isForHost: true };
const certificate = { file: '/tls/cert.pem', ...validity, isOfKey: true, missingIssuer: undefined };
const publicUrl: PublicUrlSeen = {
  url: 'https://a.example',
  leadsTo: 'this',
  problem: '',
  aheadMs: 400,
  certificate: { ...validity, distrust: '' },
};
const database: Extract<DatabaseSeen, { is: 'running' }> = {
  is: 'running',
  home: '/data/postgres',
  version: '18.3',
  number: 180_003,
  ahead_ms: 1,
  max_connections: 60,
  used_connections: 5,
  fsync: 'on',
  full_page_writes: 'on',
  read_only: 'off',
};
const unit: UnitSeen = {
  name: 'platform-management.service',
  isInstalled: true,
  isReplaced: false,
  isEnabled: true,
  startsWithSystem: true,
  isLasting: true,
  activeState: 'active',
  result: 'success',
  needsReload: false,
  dropIns: '',
};
const documents = ['root', 'targets', 'snapshot', 'timestamp'].map((name) => ({
  name,
  expires: now + (name === 'root' || name === 'targets' ? 30 : 0.5) * day,
}));
const programs = ['platform-agent', 'platform-server'].flatMap((name) =>
  ['linux/amd64', 'linux/arm64', 'windows/amd64'].map((one) => `${name} ${one}`),
);
const server = {
  dataFolder: '/data',
  isInstalled: true,
  pid: 7,
  options: {},
  localUrl: 'http://127.0.0.1:443',
  publicUrl: publicUrl.url,
};
const disk = { folder: '/data', freeBytes: 9e9, sizeBytes: 5e10, inodes: 1000, freeInodes: 900 };
const closed = { path: '/data/secrets.json', isFolder: false, mode: 0o600, forbidden: 0o077, isOwned: true };
const sound: Observations = {
  now,
  isRoot: true,
  server,
  health: { status: 200, text: 'ok\n' },
  change: undefined,
  certificate,
  publicUrl,
  isClockSynchronized: true,
  database,
  blobs: { folder: '/data/blobs', mark: 'own', files: { named: 3, sampled: 3, missing: [] } },
  disks: [disk],
  files: [closed],
  units: [unit],
  lastBackup: now - day,
  releases: { programs, documents },
};

const problems = (more: Partial<Observations>): string[] =>
  checkResults({ ...sound, ...more })
    .filter(isFinding)
    .map(({ at, name, says }) => `${at} ${name}: ${says}`);

test('a sound server has no problems', () => assert.deepEqual(problems({}), []));

const ofCertificate = (more: object): Partial<Observations> => ({
  certificate: { ...certificate, ...more },
});
const ofDatabase = (more: object): Partial<Observations> => ({ database: { ...database, ...more } });
const ofUrl = (more: Partial<PublicUrlSeen>): Partial<Observations> => ({ publicUrl: { ...publicUrl, ...more } });
const ofUnit = (more: Partial<UnitSeen>): Partial<Observations> => ({ units: [{ ...unit, ...more }] });
const ofServer = (more: object): Partial<Observations> => ({ server: { ...server, ...more } });
const expiring = (role: string, expires: number): Partial<Observations> => ({
  releases: { programs, documents: documents.map((one) => (one.name === role ? { ...one, expires } : one)) },
});

const upgrading = { what: 'the switch from 0.1.0 to 0.2.0 (stage trial)', isRunning: true };
const stoppedFor = (change: object): Partial<Observations> => ({
  change: { ...upgrading, ...change },
  server: { ...server, pid: undefined },
  health: undefined,
  publicUrl: undefined,
  releases: undefined,
  units: [{ ...unit, activeState: 'inactive' }],
});

test('the doctor names an upgrade in progress, and starts nothing beside it', () => {
  const remedies = (more: Partial<Observations>) =>
    checkResults({ ...sound, ...more })
      .filter(isFinding)
      .map((one) => ('remedy' in one ? one.remedy : ''))
      .join('\n');
  const running = stoppedFor({});
  assert.deepEqual(problems(running), [
    'warning server: The server is not ready, because the switch from 0.1.0 to 0.2.0 (stage trial) is in progress.',
  ]);
  assert.match(remedies(running), /journalctl -fu platform-management-switch/);
  assert.doesNotMatch(remedies(running), /systemctl start/);
  const [first] = problems({ ...running, server, health: { problem: 'ECONNREFUSED' } });
  assert.match(first ?? '', /is in progress/, 'the new version starts');
  const cut = stoppedFor({ isRunning: false });
  assert.match(problems(cut)[0] ?? '', /^failed server: .* was interrupted/);
  assert.match(remedies(cut), /systemctl start platform-management-switch/);
  assert.doesNotMatch(remedies(cut), /systemctl start platform-management\b(?!-)/);
  assert.deepEqual(problems({ change: upgrading }), [], 'the server is ready, and the unit is about to end');
});

const cases: readonly (readonly [what: string, seen: Partial<Observations>, expected: readonly RegExp[]])[] = [
  ['expired', ofCertificate({ until: now - 1 }), [/^failed certificate: \/tls\/cert.pem expired on 2026-11-25 11:59/]],
  ['not valid yet', ofCertificate({ from: now + day }), [/^failed certificate: .* not valid before 2026-11-26/]],
  ['expires soon', ofCertificate({ until: now + 13 * day }), [/^warning certificate: .* expires on 2026-12-08/]],
  ['another key', ofCertificate({ isOfKey: false }), [/^failed certificate: The key beside .* another certificate/]],
  ['no chain', ofCertificate({ missingIssuer: 'R11' }), [/^failed certificate: The chain .* of R11 is missing/]],
  [
    'another name',
    ofCertificate({ isForHost: false }),
    [/^failed certificate: .* host of the public URL: it is for a/],
  ],
  [
    'unreadable',
    { certificate: { file: '/c', problem: 'ENOENT' } },
    [/^failed certificate: \/c cannot be used: ENOENT/],
  ],
  [
    'a proxy with an expired certificate',
    ofUrl({ certificate: { ...validity, until: now - day, distrust: 'CERT_HAS_EXPIRED' } }),
    [/^failed certificate: The certificate at https:\/\/a.example expired/],
  ],
  ['elsewhere', ofUrl({ leadsTo: 'other' }), [/^failed public URL: https:\/\/a.example leads to another server/]],
  ['no answer', ofUrl({ leadsTo: 'nothing', problem: 'refused' }), [/^failed public URL: .* from this host: refused/]],
  ['clock of the URL', ofUrl({ aheadMs: -120_000 }), [/^failed clock: .* is 2 min behind that of https/]],
  ['clock of the database', ofDatabase({ ahead_ms: 7_200_000 }), [/^failed clock: .* is 2 h ahead of that of the/]],
  ['no time server', { isClockSynchronized: false }, [/^warning clock: No time server/]],
  ['old PostgreSQL', ofDatabase({ number: 150_004, version: '15.4' }), [/^failed database: It is PostgreSQL 15.4/]],
  ['no fsync', ofDatabase({ fsync: 'off' }), [/^failed database: Its setting fsync is off/]],
  ['torn pages', ofDatabase({ full_page_writes: 'off' }), [/^failed database: Its setting full_page_writes/]],
  ['few connections', ofDatabase({ max_connections: 20 }), [/^failed database: It takes 20 connections/]],
  ['read-only', ofDatabase({ read_only: 'on' }), [/^failed database: It is read-only/]],
  ['silent database', { database: { is: 'silent', problem: 'x' } }, [/^failed database: .* does not answer: x/]],
  ['no database', { database: { is: 'absent' } }, [/^failed database: .* is not in the data folder/]],
  ['full disk', { disks: [{ ...disk, freeBytes: 1e6 }] }, [/^failed disk: 1.0 MB of/]],
  ['little room', { disks: [{ ...disk, freeBytes: 1e9 }] }, [/^warning disk: /]],
  ['no inodes', { disks: [{ ...disk, freeInodes: 0 }] }, [/^failed inodes: 0 of 1000/]],
  ['few inodes', { disks: [{ ...disk, freeInodes: 19 }] }, [/^warning inodes: 19 of 1000/]],
  ['a file system without inodes', { disks: [{ ...disk, inodes: 0, freeInodes: 0 }] }, []],
  ['open key', { files: [{ ...closed, mode: 0o644 }] }, [/^failed permissions: .*secrets.json .* \(mode 644\)/]],
  ['a key for a group', { files: [{ ...closed, mode: 0o640, forbidden: 0o007 }] }, []],
  ['foreign file', { files: [{ ...closed, isOwned: false }] }, [/^failed permissions: .* belongs to another user/]],
  ['no unit', ofUnit({ isInstalled: false }), [/^failed service: .* is not installed/]],
  ['edited unit', ofUnit({ isReplaced: true }), [/^warning service: .* file of your own/]],
  ['added settings', ofUnit({ dropIns: '/etc/x.conf' }), []],
  ['not enabled', ofUnit({ isEnabled: false }), [/^warning service: .* does not start with the system/]],
  ['stale unit', ofUnit({ needsReload: true }), [/^warning service: .* after systemd had read it/]],
  ['failed unit', ofUnit({ activeState: 'failed', result: 'exit-code' }), [/^failed service: .* failed: exit-code/]],
  ['stopped unit', ofUnit({ activeState: 'inactive' }), [/^failed service: .* is inactive/]],
  ['a oneshot at rest', ofUnit({ activeState: 'inactive', isLasting: false }), []],
  ['no backup', { lastBackup: undefined }, [/^warning backup: There is no backup yet/]],
  ['old backup', { lastBackup: now - 2.1 * day }, [/^warning backup: The newest backup is 2 d old/]],
  [
    'backup of the future',
    { lastBackup: now + 2 * day },
    [/^warning backup: The newest backup is of .* in the future/],
  ],
  ['weekly backups', { lastBackup: now - 8 * day, ...ofServer({ options: { backup_every_hours: 168 } }) }, []],
  ['no releases', { releases: { problem: 'none was published' } }, [/^failed releases: .*none was published/]],
  [
    'a platform without a release',
    { releases: { programs: programs.filter((one) => !one.endsWith('arm64')), documents } },
    [/^warning releases: No signed release of platform-agent linux\/arm64, platform-server linux\/arm64/],
  ],
  ['expired timestamp', expiring('timestamp', now - 1), [/^failed releases: The signed timestamp document expired/]],
  ['targets expire soon', expiring('targets', now + 6 * day), [/^warning releases: The signed targets document/]],
  ['not ready', { health: { status: 503, text: 'unavailable\n' } }, [/^failed server: .* answers 503: unavailable/]],
  ['no answer here', { health: { problem: 'x' } }, [/^failed server: Process 7 does not answer/]],
  [
    'stopped',
    {
      ...ofServer({ pid: undefined, isInstalled: false }),
      health: undefined,
      releases: undefined,
      units: undefined,
      database: { is: 'stopped', home: '/data/postgres' },
      ...ofUrl({ leadsTo: 'nothing', problem: 'refused', certificate: undefined, aheadMs: undefined }),
    },
    [/^failed server: The server of \/data does not run/],
  ],
];

for (const [what, seen, expected] of cases)
  test(`doctor of the server: ${what}`, () => {
    const found = problems(seen);
    assert.equal(found.length, expected.length, found.join('\n'));
    for (const [i, pattern] of expected.entries()) assert.match(found[i] ?? '', pattern);
  });

test('each finding says why it matters and what to do', () => {
  const all = cases.flatMap(([, seen]) => checkResults({ ...sound, ...seen })).filter(isFinding);
  assert.deepEqual(
    all.filter(({ why, remedy }) => why === '' || remedy === ''),
    [],
  );
});
