// A machine whose system does not trust its server's authority: the server's own data suffices to install, supervise
// and configure it.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { createPlatformClient } from '@platform/client';
import { type Machine, OnlineState, ServerState } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { spawnGroup, systemClock } from '@platform/kit/node';
import { issue, tempFolder } from '@platform/kit/testing';
import { isConfigInEffect } from '../src/config-in-effect.ts';
import { dataFolder, startUp } from '../src/up-process.ts';

const day = 86_400_000;
const validity = { from: Date.now() - day, to: Date.now() + day };
const authority = issue({ name: 'Authority of a barn', ...validity, authority: true, keyUsage: [5, 6] });
const site = issue({ name: 'localhost', ...validity, by: authority, dns: ['localhost'] });

test('an authority that only the server knows: agent and machine server run by the credentials file, and by nothing else', async () => {
  await using folder = await dataFolder();
  await using own = await tempFolder();
  await writeFile(own.file('cert.pem'), `${site.cert}${authority.cert}`);
  await writeFile(own.file('key.pem'), site.key);
  const tls = ['--tls-cert', own.file('cert.pem'), '--tls-key', own.file('key.pem')];
  const up = await startUp(folder.path, '--empty', '--host', '0.0.0.0', ...tls);
  try {
    const ready = (await up.answer) as Record<string, string> | undefined;
    assert.ok(ready, await Promise.race([up.stderr, Promise.resolve('no line')]));
    const { port } = new URL(ready['url'] ?? '');
    const client = createPlatformClient({
      baseUrl: `http://127.0.0.1:${port}`,
      credentials: { type: 'api-key', authEntity: ready['api_key_id'] ?? '', payload: ready['api_key'] ?? '' },
    });
    const made = await client.fleetClient.createMachine({ organizationId: ready['org_id'] ?? '', name: 'barn' });
    const { id = '', partId = '' } = made.machine ?? {};
    const configJson = JSON.stringify({ agent: { version_control: { 'platform-server': 'stable' } } });
    const { revision } = await client.fleetClient.saveConfig({ partId, configJson });
    const released = async () =>
      (await client.releaseClient.listReleases('platform-agent')).find((one) => one.channels.includes('stable'));
    let agent = await released();
    for (; !agent; agent = await released()) await systemClock.sleep(100);

    // As install.sh does it, with plain curl alone.
    const { stdout: script } = await promisify(execFile)('/bin/sh', ['-c', made.installScriptCommand]);
    const embedded = /^authority='([^']+)'$/m.exec(script)?.[1] ?? '';
    assert.equal(embedded, authority.cert.trim());
    await writeFile(own.file('authority.pem'), embedded);
    const program = own.file('platform-agent');
    await promisify(execFile)('curl', ['-fsS', '--cacert', own.file('authority.pem'), '-o', program, agent.url]);
    await chmod(program, 0o755);
    await writeFile(own.file('barn.json'), made.credentialsJson, { mode: 0o600 });

    const root = own.file('root');
    const kept = await spawnGroup({
      command: program,
      args: ['supervise', '--config', own.file('barn.json'), '--root', root],
      env: { PATH: '/usr/bin:/bin', HOME: own.path },
      logFile: own.file('agent.log'),
    });
    try {
      const isUp = (now: Machine): boolean =>
        now.onlineState === OnlineState.ONLINE &&
        now.report?.serverState === ServerState.RUNNING &&
        now.wantedRevision === revision &&
        isConfigInEffect(now);
      const seen = async (): Promise<Machine | undefined> => (await client.fleetClient.getMachine({ id })).machine;
      for (let now = await seen(); !now || !isUp(now); now = await seen()) await systemClock.sleep(200);
      assert.equal(await readFile(path.join(root, 'etc', 'authority.pem'), 'utf8'), authority.cert);
      const pid = await serverPid(root);
      const environment = await readFile(`/proc/${pid}/environ`, 'utf8');
      assert.ok(environment.includes(`PLATFORM_CERTIFICATE_AUTHORITY=${path.join(root, 'etc', 'authority.pem')}`));
      assert.ok(!environment.includes('NODE_EXTRA_CA_CERTS'));
    } catch (error) {
      throw new Error(await readFile(own.file('agent.log'), 'utf8'), { cause: error });
    } finally {
      await kept.stop({ termMs: 60_000 });
    }
  } finally {
    up.group.signal('SIGINT');
    await up.group.exited;
  }
});

/** Finds the pid of the machine server. */
async function serverPid(root: string): Promise<number> {
  const { stdout } = await promisify(execFile)('pgrep', ['-f', `^${root}/.*platform-server`]);
  return Number(stdout.trim().split('\n')[0]);
}
