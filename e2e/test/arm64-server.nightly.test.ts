// The archive of the management server for linux-arm64 on an emulated arm64 machine with systemd: installed as a service,
// ready, backed up, started again after a power cut, and removed.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import path from 'node:path';
import { plainEnvironment } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { arm64Machine, eventually, type VirtualMachine } from '../lab/machine.ts';
import { serveFiles } from '../lab/file-server.ts';
import { keep, timed } from '../lab/results.ts';
import { checkout } from '../src/up-process.ts';

const where = 'arm64';
const readySeconds = 1_800;

function buildArchive(out: string): string {
  const program = path.join(checkout, 'tools', 'server-archive.ts');
  const args = [program, '--platform', 'linux-arm64', '--programs', 'none', '--release-version', '0.1.0', '--out', out];
  const done = spawnSync(process.execPath, args, { env: plainEnvironment(), encoding: 'utf8' });
  assert.equal(done.status, 0, done.stderr);
  return (JSON.parse(done.stdout) as { file: string }).file;
}

const isReady = (machine: VirtualMachine): Promise<true> =>
  eventually('the server is ready', readySeconds, async () =>
    (await machine.exec('curl -fs http://127.0.0.1:8080/readyz')).stdout.startsWith('ok') ? true : undefined,
  );

test('the server on arm64, from its archive to its removal', { timeout: 3 * 3_600_000 }, async (t) => {
  await using files = await tempFolder();
  const archive = buildArchive(files.path);
  await using served = await serveFiles(archive);
  await using machine = await arm64Machine(9, served.port);
  await machine.must('systemctl is-system-running --wait', 600);
  const url = `http://app.platform.test:8099/${path.basename(archive)}`;
  await machine.must(`cd /root && curl -fsS ${url} | tar -xz`, 1_800);
  await t.test('it installs as a service', async () => {
    const command = `cd /root/platform-management-*/ && ./platform admin install-service --ready-within ${readySeconds} --backup-dir /var/backups/platform`;
    const { seconds, value } = await timed(() => machine.must(command, 3_600));
    assert.match(value, /is installed and ready/);
    await keep('the server: install as a service, until it is ready', where, seconds);
    await machine.must('rm -rf /root/platform-management-*');
  });
  await t.test('it creates a machine, and makes a backup that is whole', async () => {
    assert.match(await machine.must('platform machine create barn --json', 600), /"part_id":"[\da-f-]{36}"/);
    const { seconds } = await timed(() =>
      machine.must('platform admin backup /var/backups/platform && platform admin verify /var/backups/platform', 1_200),
    );
    await keep('the server: backup and verify', where, seconds);
  });
  await t.test('after a power cut it is ready again, with the machine', async () => {
    await machine.kill();
    await machine.up();
    const { seconds } = await timed(() => isReady(machine));
    await keep('the server: power cut, until it is ready', where, seconds);
    assert.match(await machine.must('platform machine list --json', 600), /"barn"/);
  });
  await t.test('it is removed', async () => {
    await machine.must('platform admin uninstall-service --delete-data --yes', 600);
    const left = await machine.exec(
      'ls -d /opt/platform-management /etc/platform-management /var/lib/platform-management',
    );
    assert.equal(left.stdout, '');
  });
});
