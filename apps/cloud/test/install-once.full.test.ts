// The install line with a one-time key, by plain curl over TLS: it installs once, reports each step, and says what to do
// when it does not work.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import test from 'node:test';
import { keyedCommands } from '@platform/contract/provisioning/install-command';
import { FleetService, InstallStepKind } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { tempFolder } from '@platform/kit/testing';
import { machineAt, machineHost, makeCertificate, publishAgent } from './installer-machine.ts';
import { testServer } from './server.ts';

const nameOf = (kind: InstallStepKind): string =>
  Object.entries(InstallStepKind).find(([, value]) => value === kind)?.[0] ?? '';

test('the line with a one-time key', async (t) => {
  await using folder = await tempFolder();
  await makeCertificate(folder, 'server', '20200101000000Z', '21200101000000Z');
  await using on = await testServer([
    '--tls-cert',
    folder.file('server.cert'),
    '--tls-key',
    folder.file('server.key'),
    '--tls-authority',
    folder.file('server.authority'),
  ]);
  await publishAgent(on, '1.2.3');
  const port = Number(new URL(on.url).port);
  const server = `https://${machineHost}:${port}`;
  // Its system knows no authority of this server: the line brings the hash along.
  await using machine = await machineAt(port, '');
  const fleet = await on.client(FleetService);
  const steps = async (partId: string) =>
    Object.fromEntries(
      (await fleet.getInstallation({ partId })).steps.map(({ kind, detail }) => [nameOf(kind), detail]),
    );
  const newLine = async (name: string) => {
    const { partId } = await on.machine(name);
    const key = await fleet.createInstallKey({ partId });
    const scriptCommand = key.installScriptCommand.replaceAll(key.serverUrl, server);
    const of = { ...key, url: server, scriptCommand, partId };
    return { partId, ...keyedCommands(of, [], 'm'), key };
  };
  const rooted = (line: string): string => line.replace(/^sudo /, '');

  await t.test('installs, reports each step, and works no second time elsewhere', async () => {
    const { partId, linux } = await newLine('first');
    const done = await machine.run(rooted(linux));
    assert.equal(done.code, 0, `${done.stdout}${done.stderr}`);
    assert.ok(readFileSync(machine.file('/etc/platform.json'), 'utf8').includes(partId));
    const { STARTED, DOWNLOADED, VERIFIED, INSTALLED, FAILED } = await steps(partId);
    assert.match(STARTED ?? '', /^Linux /);
    assert.match(DOWNLOADED ?? '', /^platform-agent 1\.2\.3 for linux-amd64, 2 MB$/);
    assert.match(VERIFIED ?? '', /signed/);
    assert.match(INSTALLED ?? '', /1\.2\.3 is installed, and platform-agent\.service runs/);
    assert.equal(FAILED, undefined);

    const again = await machine.run(rooted(linux));
    assert.equal(again.code, 2, 'the stand-in has no credentials to keep');
    assert.match(again.stdout, /keeps them/);
    await machine.clear();
    const elsewhere = await machine.run(rooted(linux));
    assert.equal(elsewhere.code, 1, elsewhere.stdout);
    assert.match(
      elsewhere.stderr,
      /one-time key of this line was used, has expired, .* Make a new line in the web app/,
    );
    assert.equal(existsSync(machine.file('/opt/platform/cache')), false, 'nothing was downloaded');
    assert.ok('REFUSED' in (await steps(partId)));
  });

  await t.test('a failure is reported with its reason, and the same line works when the cause is gone', async () => {
    await machine.clear();
    const { partId, linux } = await newLine('second');
    const without = await machine.run(`rm -r /run/systemd; ${rooted(linux)}`);
    assert.equal(without.code, 1);
    assert.match((await steps(partId))['FAILED'] ?? '', /systemd does not run here.*container/);
    // After the key was used.
    await mkdir(machine.file('/opt/platform'), { recursive: true });
    writeFileSync(machine.file('/opt/platform/bin'), '');
    const full = await machine.run(rooted(linux));
    assert.equal(full.code, 2, full.stdout);
    assert.match((await steps(partId))['FAILED'] ?? '', /mkdir:|bin/);
    rmSync(machine.file('/opt/platform/bin'));
    const done = await machine.run(rooted(linux));
    assert.equal(done.code, 0, `${done.stdout}${done.stderr}`);
    assert.deepEqual(Object.keys(await steps(partId)), ['STARTED', 'DOWNLOADED', 'VERIFIED', 'INSTALLED']);
  });
});
