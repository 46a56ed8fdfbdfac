// A line whose number another line has is stored and counted. The same line, sent again, is stored once.
import assert from 'node:assert/strict';
import test from 'node:test';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { AppService, LogOrder } from '@platform/contract/gen/platform/app/v1/app_pb';
import { RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import type { LogEntrySchema } from '@platform/contract/gen/platform/common/v1/common_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { testServer } from './server.ts';

type Entry = MessageInitShape<typeof LogEntrySchema>;

const second = 1_790_000_000n;
const time = { seconds: second, nanos: 0 };
const line: Entry = { message: 'started', level: 'info', loggerName: 'agent', fields: [{ a: 1, b: 2 }], time };
const numbered = { bootId: 'boot', sequence: 1n };
const later = (seconds: number): Entry['time'] => ({ seconds: second + BigInt(seconds), nanos: 0 });
const wild = { seconds: 1n << 60n, nanos: 0 };
/** 40 days before: its partition is that of its arrival. */
const old = { seconds: BigInt(Math.floor(Date.now() / 1000)) - 40n * 86_400n, nanos: 0 };

/** The second line comes under the identity of the first. */
const table: readonly [what: string, first: Entry, next: Entry, isOther: boolean][] = [
  ['the same', line, line, false],
  ['its fields in another order', line, { ...line, fields: [{ b: 2, a: 1 }] }, false],
  ['from a machine renamed since', { ...line, host: 'old' }, { ...line, host: 'new' }, false],
  ['its time corrected by the agent', line, { ...line, time: later(3) }, false],
  [
    'its time estimated before',
    { ...line, fields: [{ a: 1, b: 2 }, { time_is: 'estimated' }], time },
    { ...line, time: later(9_000) },
    false,
  ],
  ['without a time of its own', { message: 'm', time: wild }, { message: 'm', time: wild }, false],
  ['of an old day', { ...line, time: old }, { ...line, time: old }, false],
  ['another text', line, { ...line, message: 'stopped' }, true],
  ['another level', line, { ...line, level: 'warn' }, true],
  ['another logger', line, { ...line, loggerName: 'agent.x' }, true],
  ['another field', line, { ...line, fields: [{ a: 1, b: 3 }] }, true],
  ['another stack', line, { ...line, stack: 's' }, true],
  ['the same text at another time', line, { ...line, time: later(3_600) }, true],
  ['another text of an old day', { ...line, time: old }, { ...line, message: 'stopped', time: old }, true],
];

test('a line under the identity of another one is stored and counted; the same line again is stored once', async () => {
  await using on = await testServer();
  const [app, fleet] = [await on.client(AppService), await on.client(FleetService)];
  for (const [what, first, next, isOther] of table) {
    const { partId, part, machineId } = await on.machine(what.slice(0, 30));
    const robot = await on.client(RobotService, part);
    const send = (...logs: Entry[]) => robot.log({ id: partId, logs: logs.map((one) => ({ ...numbered, ...one })) });
    await send(first);
    // Sent three times: the answer of the first two may have been lost.
    for (let round = 0; round < 3; round++) await send(next, { ...line, message: 'more', sequence: 2n });
    const { logs } = await app.getRobotPartLogs({ id: partId, order: LogOrder.ASCENDING });
    assert.equal(logs.length, isOther ? 3 : 2, what);
    assert.equal(logs.filter(({ message }) => message === next.message).length > 0, true, what);
    const { machine } = await fleet.getMachine({ id: machineId });
    const found = machine?.conditions.filter(({ code }) => code === 'SPOOL_REPEATED') ?? [];
    assert.deepEqual(
      found.map(({ message }) => message.split(' ')[0]),
      isOther ? ['1'] : [],
      what,
    );
  }
});

test('two senders under one identity in one call: all lines of both; lines without a number are never compared', async () => {
  await using on = await testServer();
  const { partId, part } = await on.machine('m');
  const [robot, app] = [await on.client(RobotService, part), await on.client(AppService)];
  const of = (twin: string): Entry[] =>
    Array.from({ length: 40 }, (_, n) => ({
      ...line,
      bootId: 'boot',
      sequence: BigInt(n + 1),
      message: `${twin} ${n}`,
    }));
  await robot.log({ id: partId, logs: [...of('a'), ...of('b'), line, line] });
  await Promise.all([robot.log({ id: partId, logs: of('c') }), robot.log({ id: partId, logs: of('b') })]);
  const { logs } = await app.getRobotPartLogs({ id: partId, limit: 1_000n });
  for (const twin of ['a', 'b', 'c'])
    assert.equal(new Set(logs.map(({ message }) => message).filter((text) => text.startsWith(`${twin} `))).size, 40);
  assert.equal(logs.length, 122);
});
