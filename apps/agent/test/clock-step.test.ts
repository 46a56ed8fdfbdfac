// The age of a condition does not change when the wall clock is set.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { Cell } from '@platform/kit';
import type { Condition } from '../src/health/conditions.ts';
import type { HeardTime } from '../src/clock/device-time.ts';
import { good, minute, World } from './world.ts';

const truth = Date.UTC(2027, 5, 1);

for (const [name, wall] of [
  ['1970', 0],
  ['2002', Date.UTC(2002, 9, 18)],
  ['2051', Date.UTC(2051, 0, 1)],
] as const) {
  test(`clock_set_while_running: from ${name}, a condition of minutes stays one of minutes`, async () => {
    const w = new World();
    w.clock.jumpWall(wall - w.clock.wall());
    w.publish('1.0.0', good('1.0.0'));
    const heardTime = new Cell<HeardTime | undefined>(undefined);
    // The cell keeps one condition for the whole test, so its age must not change.
    const problem = { code: 'PROXY_UNSUPPORTED', severity: 'warning', message: 'm', remedy: 'r' } as const;
    const agent = w.start({}, { heardTime, conditions: new Cell<readonly Condition[]>([problem]) });
    const found = () => w.cloud.report.get()?.conditions.find(({ code }) => code === problem.code);
    for (let i = 0; i < 100 && !found(); i++) await w.clock.advance(minute / 4);
    const correctedAt = w.clock.now();
    await w.clock.advance(20 * minute);
    const real = () => truth + w.clock.now();
    const age = () => real() - timestampMs(found()!.since!);
    const isRight = () => Math.abs(age() - (w.clock.now() - correctedAt)) < 2 * minute;
    heardTime.set({ wall: real(), isClockRefuted: true });
    await w.clock.advance(2 * minute);
    assert.ok(isRight(), `with the time of the cloud: ${age()}`);
    w.clock.jumpWall(real() - w.clock.wall());
    heardTime.set({ wall: real(), isClockRefuted: false });
    await w.clock.advance(2 * minute);
    assert.ok(isRight(), `set by a time server: ${age()}`);
    const since = w.cloud.report.get()?.server?.lastUpdate?.since;
    assert.ok(since && real() - timestampMs(since) < w.clock.now() + minute, 'of the update, too');
    agent.kill();
  });
}
