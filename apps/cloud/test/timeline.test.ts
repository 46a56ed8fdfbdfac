// The events of a machine in one call: revisions, orders, changes, what it reported; paged, filtered, for its operators.
import assert from 'node:assert/strict';
import test from 'node:test';
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt';
import { AgentDeviceService } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { FleetService, OrderKind, Severity, UpdateState } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { EventKind, type MachineEvent, TimelineService } from '@platform/contract/gen/platform/timeline/v1/timeline_pb';
import { sql } from 'kysely';
import { systemClock } from '@platform/kit/node';
import { failure } from './failure.ts';
import { testServer } from './server.ts';

test('what users did with a machine and what it reported is one list, in pages and by kind', async () => {
  await using on = await testServer();
  const { machineId, partId, part } = await on.machine('press 4');
  const other = await on.machine('press 5');
  const fleet = await on.client(FleetService);
  const agent = await on.client(AgentDeviceService, part);
  const timeline = await on.client(TimelineService);
  await fleet.saveConfig({ partId, configJson: '{"components":[]}', comment: 'no cameras' });
  await fleet.saveConfig({ partId: other.partId, configJson: '{"services":[]}' });
  const since = timestampFromMs(systemClock.wall() - 60_000);
  await agent.deviceAgentConfig({
    id: partId,
    hostInfo: { platform: 'linux/amd64', tags: ['platform-agent'] },
    report: {
      knownOrders: [OrderKind.REBOOT],
      conditions: [{ code: 'DISK_LOW', severity: Severity.WARNING, message: 'The disk is full.', since }],
      server: { lastUpdate: { version: '2', fromVersion: '1', state: UpdateState.HEALTHY, since } },
    },
  });
  await fleet.orderPart({ partId, kind: OrderKind.REBOOT });
  await fleet.tagMachine({ id: machineId, add: ['barn'] });

  const { events, nextPageToken } = await timeline.listMachineEvents({ partId });
  assert.equal(nextPageToken, '');
  const texts = events.map(({ text }) => text);
  assert.deepEqual(
    [...texts].toSorted(),
    [
      'A reboot of the device was ordered',
      'Its tags were changed',
      'Machine server 1 → 2: healthy',
      'Revision 1 was saved',
      'The disk is full.',
      'The machine was created',
    ],
    'nothing of the other machine',
  );
  const times = events.map(({ time }) => timestampMs(time!));
  assert.deepEqual(
    times,
    times.toSorted((a, b) => b - a),
  );
  const saved = events.find(({ revision }) => revision === 1n);
  assert.deepEqual([saved?.detail, saved?.kind], ['no cameras', EventKind.REVISION]);
  assert.match(saved?.actor ?? '', /^api_key /);

  const paged: MachineEvent[] = [];
  let pageToken = '';
  do {
    const page = await timeline.listMachineEvents({ partId, pageSize: 2, pageToken });
    paged.push(...page.events);
    pageToken = page.nextPageToken;
  } while (pageToken !== '');
  assert.deepEqual(
    paged.map(({ text }) => text),
    texts,
  );
  const filtered = await timeline.listMachineEvents({ partId, kinds: [EventKind.REVISION, EventKind.UPDATE] });
  assert.deepEqual(
    filtered.events.map(({ text }) => text),
    texts.filter((text) => /Revision|healthy/.test(text)),
  );
  assert.equal(
    await failure(timeline.listMachineEvents({ partId, pageSize: 201 })),
    'InvalidArgument INVALID_ARGUMENT',
  );
  assert.equal(
    await failure(timeline.listMachineEvents({ partId, pageToken: 'x!' })),
    'InvalidArgument INVALID_ARGUMENT',
  );
});

test('pages lose no event: not between many of other kinds, not a gap in which a page ends, not after a time of no age', async () => {
  await using on = await testServer();
  const { db, orgId } = on;
  const { machineId, partId, part } = await on.machine('press 4');
  const agent = await on.client(AgentDeviceService, part);
  const timeline = await on.client(TimelineService);
  const now = systemClock.wall();
  const start = BigInt(Math.floor(now / 1000) - 3_600);
  const since = { seconds: -(2n ** 60n), nanos: 0 };
  await agent.deviceAgentConfig({
    id: partId,
    hostInfo: { platform: 'linux/amd64', tags: ['platform-agent'] },
    report: { conditions: [{ code: 'DISK_LOW', severity: Severity.WARNING, message: 'Before all.', since }] },
    samples: {
      spoolId: 'first',
      firstSequence: 1n,
      start,
      samples: [{ seconds: 0 }, { seconds: 2_400 }],
    },
  });
  const audited = (action: string, subject: string, count: number, secondsAgo: number) =>
    sql`insert into audit (org_id, actor, action, subject, at)
      select ${orgId}::uuid, 'x', ${action}::text, ${subject}::text, to_timestamp(${now / 1000 - secondsAgo}::double precision)
        from generate_series(1, ${count}::int)`.execute(db);
  await audited('order reboot', partId, 1, 2_000);
  await audited('tag machine', machineId, 2_100, 60);
  const list = async (kinds: EventKind[], pageSize: number) => {
    const texts: string[] = [];
    let pageToken = '';
    do {
      const page = await timeline.listMachineEvents({ partId, kinds, pageSize, pageToken });
      texts.push(...page.events.map(({ text }) => text));
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    return texts;
  };
  const ordered = 'A reboot of the device was ordered';
  assert.deepEqual(await list([EventKind.ORDER], 50), [ordered]);
  assert.deepEqual(await list([EventKind.ORDER, EventKind.ABSENCE], 1), [ordered, 'Nothing was measured']);
  assert.deepEqual(await list([EventKind.CONDITION, EventKind.ORDER], 1), [ordered]);
  const pageToken = btoa('events -999999999999999 0').replaceAll('=', '');
  assert.equal(await failure(timeline.listMachineEvents({ partId, pageToken })), 'InvalidArgument INVALID_ARGUMENT');
});
