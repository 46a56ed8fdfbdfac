// The audit keeps each change that a user makes to machines: user, change, machine.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import test from 'node:test';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { ReleaseService } from '@platform/contract/gen/platform/release/v1/release_pb';
import { insertRelease } from '../src/releases/store/releases.ts';
import { failure } from './failure.ts';
import { testServer } from './server.ts';

test('the audit of a machine and of the releases, in order; what was refused is not in it', async () => {
  await using on = await testServer();
  const fleet = await on.client(FleetService);
  const releases = await on.client(ReleaseService);
  const name = 'platform-server';
  for (const version of ['1.0.0', '1.1.0']) {
    const sha256 = createHash('sha256').update(version).digest();
    await insertRelease(on.db, { name, version, platform: 'linux/amd64', sha256, sizeBytes: 1 });
  }
  const { machine } = await fleet.createMachine({ organizationId: on.orgId, name: 'press' });
  const { id = '', partId = '' } = machine ?? {};
  const url = 'https://builds.example/server';
  await fleet.saveConfig({ partId, configJson: JSON.stringify({ agent: { version_control: { [name]: url } } }) });
  assert.match(await failure(fleet.saveConfig({ partId, configJson: '{"agent": 1}' })), /INVALID_CONFIG/);
  await fleet.restartPart({ partId });
  await fleet.clearQuarantine({ partId });
  await fleet.upgradeSystem({ partId });
  await releases.setChannel({ name, channel: 'stable', version: '1.1.0' });
  assert.match(await failure(releases.revokeRelease({ name, version: '1.1.0' })), /RELEASE_IN_USE/);
  await releases.revokeRelease({ name, version: '1.0.0' });
  await fleet.deleteMachine({ id });

  const entries = await on.db
    .selectFrom('audit')
    .select(['action', 'subject', 'actor', 'details'])
    .orderBy('id')
    .execute();
  const [start, ...own] = entries.filter(({ action }) => action !== 'install');
  assert.deepEqual([start?.action, start?.actor], ['create sign-in link', 'server start']);
  assert.deepEqual(
    own.map(({ action, subject, details }) => [action, subject, details]),
    [
      ['create machine', id, null],
      ['save config', partId, { revision: 1 }],
      ['consent to unsigned programs', partId, { revision: 1, pins: [url] }],
      ['request restart', partId, null],
      ['clear quarantine', partId, { versions: [] }],
      ['request system upgrade', partId, null],
      ['set channel', 'platform-server stable', { version: '1.1.0' }],
      ['revoke release', 'platform-server 1.0.0', null],
      ['delete machine', id, { name: 'press' }],
    ],
  );
  assert.deepEqual([...new Set(own.map(({ actor }) => actor))], [`api_key first key (${on.owner.entity})`]);
});

test('renaming and deleting a part notify other processes; a refused deletion of a secret writes nothing', async () => {
  await using on = await testServer();
  const app = await on.client(AppService);
  const { machineId } = await on.machine('m');
  const { partId } = await app.newRobotPart({ robotId: machineId, partName: 'arm' });
  const secretId = (await app.getRobotPart({ id: partId })).part?.secrets[0]?.id ?? '';
  /** What a call writes: change notifications of the part, and actions in the audit. */
  const written = async (call: () => Promise<unknown>) => {
    const read = async () => ({
      changes: await on.db
        .selectFrom('change')
        .select('id')
        .where('kind', '=', 'part')
        .where('key', '=', partId)
        .execute(),
      audit: await on.db
        .selectFrom('audit')
        .select(['id', 'action'])
        .where('subject', '=', partId)
        .orderBy('id')
        .execute(),
    });
    const before = await read();
    await call();
    const after = await read();
    return [
      after.changes.length - before.changes.length,
      ...after.audit.slice(before.audit.length).map(({ action }) => action),
    ];
  };
  assert.deepEqual(await written(() => app.updateRobotPart({ id: partId, name: 'left arm' })), [1, 'update part']);
  assert.deepEqual(
    await written(async () => {
      assert.match(await failure(app.deleteRobotPartSecret({ partId, secretId })), /INVALID_ARGUMENT/);
    }),
    [0],
  );
  assert.deepEqual(await written(() => app.deleteRobotPart({ partId })), [1, 'delete part']);
});
