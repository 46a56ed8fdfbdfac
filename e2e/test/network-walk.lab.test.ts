// A random walk of network failures. The checker sees the radio world, the station tables of the access points and the
// server on this host, never the status of the agent.
//   PLATFORM_LAB_WALK_MINUTES=60 PLATFORM_LAB_SEED=7 npm run test:lab -- e2e/test/network-walk.lab.test.ts
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '@platform/kit/testing';
import { factoryDevice, provisioned, tellingNetwork } from '../lab/factory-device.ts';
import { keep, timed } from '../lab/results.ts';
import { runWalk } from '../lab/walk/run.ts';
import { summaryOf } from '../lab/walk/summary.ts';

const minutes = Number(process.env['PLATFORM_LAB_WALK_MINUTES'] ?? 4);
const seed = Number(process.env['PLATFORM_LAB_SEED'] ?? 1);

test('a random walk of network failures', { timeout: (minutes + 75) * 60_000 }, async () => {
  const say = (line: string): void => void process.stdout.write(`# ${line}\n`);
  const random = seededRandom(seed);
  const firstMode = random() < 0.5 ? 'roaming' : 'single';
  say(`seed ${seed}, ${minutes} min, ${firstMode} first`);
  await using device = await factoryDevice();
  await tellingNetwork(device.machine, async () => {
    const owned = await device.site.createMachine('gate-walks');
    await provisioned(device, owned, { by: 'cable' });
    const walked = await timed(() => runWalk({ device, owned, random, firstMode, minutes, say }));
    const { note, missed, unproved } = summaryOf(walked.value);
    await keep(`random walk of network failures, ${minutes} min`, 'radios', walked.seconds, `seed ${seed}: ${note}`);
    assert.deepEqual(missed, [], `seed ${seed}`);
    assert.ok(unproved.length * 3 <= walked.value.length, `too many unproved steps: ${unproved.join('; ')}`);
  });
});
