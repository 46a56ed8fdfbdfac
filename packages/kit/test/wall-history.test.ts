import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sourceWall } from '../src/index.ts';
import { FakeClock } from '../src/testing/index.ts';
import { WallHistory } from '../src/wall-history.ts';

const hour = 3_600_000;
const year = 365 * 24 * hour;
const real = sourceWall + year;

for (const [name, wall] of [
  ['1970', 0],
  ['2000', Date.UTC(2000, 0, 1)],
  ['some months ago', real - year / 4],
  ['2051', Date.UTC(2051, 0, 1)],
] as const) {
  test(`a clock of ${name} that is set: what is so for an hour is so for an hour`, async () => {
    const clock = new FakeClock(wall);
    const history = new WallHistory(clock);
    await clock.advance(hour);
    const noted = clock.wall();
    await clock.advance(hour);
    clock.jumpWall(real - wall);
    const ago = () => clock.wall() - (history.since(noted) ?? Number.NaN);
    assert.equal(ago(), hour);
    await clock.advance(hour);
    assert.equal(ago(), 2 * hour);
    const later = clock.wall();
    clock.jumpWall(10_000);
    await clock.advance(hour);
    assert.equal(clock.wall() - history.since(later)!, hour, 'set once more');
    assert.equal(ago(), 3 * hour);
  });
}

test('what an earlier run has noted stays, unless it cannot be', async () => {
  const clock = new FakeClock(real);
  const history = new WallHistory(clock);
  await clock.advance(hour);
  assert.equal(history.since(real - 5 * hour), real - 5 * hour);
  assert.equal(history.since(5_000), undefined, '1970');
  assert.equal(history.since(real + 30 * year), real + hour, 'the future');
  clock.jumpWall(30_000);
  assert.equal(history.since(real - 5 * hour), real - 5 * hour);
});
