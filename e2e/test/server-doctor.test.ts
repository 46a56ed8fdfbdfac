// `platform admin doctor` beside a running server whose faults are provoked one after the other.
import assert from 'node:assert/strict';
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { issue } from '@platform/kit/testing';
import { startCloud } from '../src/cloud-process.ts';
import { dataFolder, runCli, startUp } from '../src/up-process.ts';

interface Finding {
  readonly name: string;
  readonly at: 'ok' | 'note' | 'warning' | 'failed';
  readonly says: string;
  readonly why: string;
  readonly remedy: string;
}

const day = 86_400_000;

test('the doctor names what is wrong with a running server, and with a stopped one', async () => {
  await using folder = await dataFolder();
  await using other = await startCloud();
  const at = (...names: string[]): string => path.join(folder.path, ...names);
  await mkdir(at('tls'), { recursive: true });
  const now = Date.now();
  const authority = issue({ name: 'Own authority', from: now - 400 * day, to: now + 400 * day, authority: true });
  const writeCertificate = async (to: number, chain: string): Promise<void> => {
    const of = issue({ name: 'localhost', from: now - 300 * day, to, by: authority, dns: ['localhost'] });
    await writeFile(at('tls', 'cert.pem'), `${of.cert}\n${chain}`);
    await writeFile(at('tls', 'key.pem'), of.key, { mode: 0o600 });
  };
  await writeCertificate(now + 100 * day, authority.cert);
  const tls = ['--tls-cert', at('tls', 'cert.pem'), '--tls-key', at('tls', 'key.pem')];
  const up = await startUp(folder.path, '--empty', ...tls, '--public-url', other.ready.local_url);
  await using ends = new AsyncDisposableStack();
  ends.defer(async () => void (await up.group.stop({ termMs: 20_000 })));
  const ready = await up.answer;
  assert.ok(ready, await Promise.race([up.stderr, Promise.resolve('no line')]));

  const doctor = async (...flags: string[]): Promise<{ code: number | null; checks: Finding[] }> => {
    const args = ['admin', 'doctor', '--json', '--data-dir', folder.path, ...flags];
    const { code, stdout, stderr } = await runCli({}, ...args);
    assert.equal(stderr, '');
    return { code, checks: (JSON.parse(stdout) as { checks: Finding[] }).checks };
  };
  const says = (checks: readonly Finding[], name: string): string[] =>
    checks.filter((one) => one.name === name).map((one) => `${one.at}: ${one.says}`);

  const first = await doctor();
  assert.equal(first.code, 1);
  assert.match(says(first.checks, 'server').join(), /^ok: .*is ready/);
  assert.match(says(first.checks, 'certificate').join(), /^ok: .*cert\.pem is valid until/);
  assert.match(says(first.checks, 'database').join(), /^ok: PostgreSQL 18/);
  assert.match(says(first.checks, 'permissions').join(), /^ok: /);
  assert.match(says(first.checks, 'clock').join(), /the database and http/);
  assert.deepEqual(says(first.checks, 'public URL'), [`failed: ${other.ready.local_url} leads to another server.`]);
  assert.deepEqual(says(first.checks, 'backup'), ['warning: There is no backup yet.']);

  const { code, stderr } = await runCli({}, 'admin', 'backup', at('backups'), '--data-dir', folder.path);
  assert.equal(code, 0, stderr);
  await writeCertificate(now - day, '');
  await chmod(at('cloud'), 0o755);
  await chmod(at('cloud', 'secrets.json'), 0o644);
  const { local_url: own } = JSON.parse(await readFile(at('connection.json'), 'utf8')) as { local_url: string };
  const second = await doctor('--public-url', own);
  assert.equal(second.code, 1);
  assert.deepEqual(says(second.checks, 'public URL')[0], `ok: ${own} leads to this server.`);
  assert.match(says(second.checks, 'backup').join(), /^ok: The newest backup is/);
  const [expired = '', chain = ''] = says(second.checks, 'certificate');
  assert.match(expired, /^failed: .*cert\.pem expired on/);
  assert.match(chain, /^failed: The chain .* of Own authority is missing/);
  assert.deepEqual(says(second.checks, 'permissions'), [
    `failed: ${at('cloud')} is open to other users (mode 755).`,
    `failed: ${at('cloud', 'secrets.json')} is open to other users (mode 644).`,
  ]);
  for (const finding of second.checks.filter(({ at: state }) => state === 'failed'))
    assert.ok(finding.why !== '' && finding.remedy !== '', JSON.stringify(finding));

  await rm(at('tls', 'key.pem'));
  up.group.signal('SIGTERM');
  assert.equal((await up.group.exited).code, 0);
  const third = await doctor();
  assert.equal(third.code, 1);
  assert.match(says(third.checks, 'server').join(), /^failed: .* does not run/);
  assert.match(says(third.checks, 'database').join(), /^note: .*stopped with its server/);
  assert.match(says(third.checks, 'releases').join(), /^note: /);
});

test('a folder without a server, and an unknown flag, are mistakes of the command line', async () => {
  await using folder = await dataFolder();
  const none = await runCli({}, 'admin', 'doctor', '--data-dir', folder.path);
  assert.equal(none.code, 2);
  assert.match(none.stderr, /holds no data of a server/);
  assert.equal((await runCli({}, 'admin', 'doctor', '--data')).code, 2);
});
