import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { tempFolder } from '@platform/kit/testing';
import { machineAt, machineHost, makeCertificate, publishAgent } from './installer-machine.ts';
import { testServer } from './server.ts';

test('install.sh on a system that does not know the authority: the line of the server installs, another line does not', async () => {
  await using folder = await tempFolder();
  await makeCertificate(folder, 'server', '20200101000000Z', '21200101000000Z');
  const authority = folder.file('server.authority');
  const tls = ['--tls-cert', folder.file('server.cert'), '--tls-key', folder.file('server.key')];
  await using on = await testServer([...tls, '--tls-authority', authority]);
  await publishAgent(on, '1.2.3');
  await using machine = await machineAt(on.server.port, '');
  const { partId } = await on.machine('m');
  const { installScriptCommand } = await (await on.client(FleetService)).getCredentials({ partId });
  const words = `PLATFORM_API_KEY_ID=${on.owner.entity} PLATFORM_API_KEY=${on.owner.payload} PLATFORM_PART_ID=${partId}`;
  const plain = await machine.run(
    `/bin/sh -c "${words}; $(curl -fsSL https://${machineHost}:${on.server.port}/install.sh || (echo; echo exit 2))"`,
  );
  assert.match(plain.stderr, /curl: \(60\)/);
  assert.equal(plain.code, 2);
  for (const [name, line] of [
    ['with keys', `/bin/sh -c "${words}; $(${installScriptCommand})"`],
    ['piped', `${installScriptCommand} | env ${words} sh`],
    ['piped into busybox', `${installScriptCommand} | env ${words} busybox sh`],
  ] as const) {
    await machine.clear();
    const done = await machine.run(line);
    assert.deepEqual([done.code, /^installed 1\.2\.3$/m.test(done.stdout)], [0, true], `${name}: ${done.stderr}`);
    const { cloud } = JSON.parse(readFileSync(machine.file('/etc/platform.json'), 'utf8')) as {
      cloud: Record<string, string>;
    };
    assert.equal(cloud['certificate_authority'], readFileSync(authority, 'utf8'));
  }
  await machine.clear();
  const changed = installScriptCommand.replace(/[0-9a-f]{64}/, '0'.repeat(64));
  const refused = await machine.run(`/bin/sh -c "${words}; $(${changed})"`);
  assert.equal(refused.code, 2, 'nothing was installed, and the line says so');
  assert.match(refused.stderr, /did NOT match/);
  assert.doesNotMatch(refused.stdout, /installed/);
});

test('the commands of docs/operations/certificates.md make a certificate: a machine installs by the authority in it', async () => {
  await using folder = await tempFolder();
  const page = readFileSync(new URL('../../../docs/operations/certificates.md', import.meta.url), 'utf8');
  const commands = /## With your own authority[^]*?```sh\n([^]*?)```/.exec(page)?.[1] ?? '';
  const here = commands.replaceAll('platform.example.com', machineHost).replaceAll('/etc/ssl/platform', folder.path);
  const made = spawnSync('sh', ['-euc', here]);
  assert.equal(made.status, 0, made.stderr.toString());
  await using on = await testServer(['--tls-cert', folder.file('cert.pem'), '--tls-key', folder.file('key.pem')]);
  await publishAgent(on, '1.2.3');
  await using machine = await machineAt(on.server.port, '');
  const { partId } = await on.machine('m');
  const { installScriptCommand } = await (await on.client(FleetService)).getCredentials({ partId });
  const words = `PLATFORM_API_KEY_ID=${on.owner.entity} PLATFORM_API_KEY=${on.owner.payload} PLATFORM_PART_ID=${partId}`;
  const done = await machine.run(`/bin/sh -c "${words}; $(${installScriptCommand})"`);
  assert.deepEqual([done.code, /^installed 1\.2\.3$/m.test(done.stdout)], [0, true], done.stderr);
});
