import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sourceWall } from '@platform/kit';
import { FakeClock } from '@platform/kit/testing';
import { fileDisk } from '../os/file-disk.ts';
import { simFileSystem } from '../os/sim/file-system.ts';
import { SimFiles } from '../os/sim/files.ts';
import { openProvenTime, readProven } from './proven-time.ts';
import { releaseTime } from '../versions/trust/release-time.ts';

const day = 86_400_000;
const year = 365 * day;
const settled = () => new Promise((resolve) => setImmediate(resolve));

test('what was proven is the floor from then on, also after a start in 1970', async () => {
  const disk = fileDisk(simFileSystem(new SimFiles()));
  const clock = new FakeClock(0);
  const proven = await openProvenTime(disk, clock);
  assert.equal(proven.floor(), sourceWall);
  for (const nonsense of [Number.NaN, -1, 0, sourceWall - day, sourceWall + 50 * year, Infinity])
    proven.prove(nonsense);
  assert.equal(proven.floor(), sourceWall);
  proven.prove(sourceWall + year);
  proven.prove(sourceWall + 2 * day);
  assert.equal(proven.floor(), sourceWall + year, 'it never goes back');
  await settled();
  assert.equal(await readProven(disk), sourceWall + year);
  proven.prove(sourceWall + year + 60_000);
  await settled();
  assert.equal(await readProven(disk), sourceWall + year, 'the flash is not written at every answer');
  await clock.advance(day);
  assert.equal(proven.floor(), sourceWall + year + 60_000 + day, 'it goes on with the time that passes');
  proven.prove(sourceWall + year + 2 * day);
  await settled();
  const next = await openProvenTime(disk, new FakeClock(0));
  assert.equal(next.floor(), sourceWall + year + 2 * day);
  // The expiry of signed documents uses the same floor.
  const { certain, isTrusted } = await releaseTime(disk, new FakeClock(0), false);
  assert.deepEqual([certain, isTrusted], [sourceWall + year + 2 * day, false]);
});
