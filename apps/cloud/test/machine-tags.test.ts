// Tags of machines: stored in one form, limited, audited.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AuditService } from '@platform/contract/gen/platform/audit/v1/audit_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { failure } from './failure.ts';
import { testServer } from './server.ts';

test('a machine gets tags and loses them; each change is in the audit log once', async () => {
  await using on = await testServer();
  const { machineId: id, partId } = await on.machine('press');
  const fleet = await on.client(FleetService);
  const tags = async (request: { id?: string; add?: string[]; remove?: string[] }) =>
    (await fleet.tagMachine({ id, ...request })).tags;
  assert.deepEqual(await tags({ add: [' Barn ', 'site/NORTH', 'ｂａｒｎ'] }), ['barn', 'site/north']);
  assert.deepEqual(await tags({ id: partId, add: ['x'], remove: ['BARN', 'x', 'absent'] }), ['site/north']);
  assert.deepEqual(await tags({ add: ['site/north'] }), ['site/north']);
  assert.deepEqual((await fleet.getMachine({ id })).machine?.tags, ['site/north']);
  const audit = await on.client(AuditService);
  const { entries } = await audit.listAuditEntries({ organizationId: on.orgId, actions: ['tag machine'] });
  assert.deepEqual(
    entries.map(({ subject, details }) => [subject, details]),
    [
      [id, { tags: { from: 'barn site/north', to: 'site/north' } }],
      [id, { tags: { from: '', to: 'barn site/north' } }],
    ],
  );

  const wrong = [{}, { add: [''] }, { add: ['a b'] }, { add: ['-a'] }, { add: ['a,b'] }, { add: ['x'.repeat(65)] }];
  for (const request of wrong)
    assert.equal(await failure(tags(request)), 'InvalidArgument INVALID_ARGUMENT', JSON.stringify(request));
  const many = Array.from({ length: 32 }, (_, index) => `t${index}`);
  assert.equal(await failure(tags({ add: many })), 'InvalidArgument INVALID_ARGUMENT');
  assert.equal((await tags({ add: many, remove: ['site/north'] })).length, 32);
  assert.equal(await failure(tags({ add: ['one-more'] })), 'InvalidArgument INVALID_ARGUMENT');
});

test('simultaneous changes of the tags of a machine lose none', async () => {
  await using on = await testServer();
  const { machineId: id } = await on.machine('press');
  const fleet = await on.client(FleetService);
  const words = Array.from({ length: 12 }, (_, index) => `t${index}`);
  await Promise.all(words.map((word) => fleet.tagMachine({ id, add: [word] })));
  assert.deepEqual((await fleet.getMachine({ id })).machine?.tags, words.toSorted());
});
