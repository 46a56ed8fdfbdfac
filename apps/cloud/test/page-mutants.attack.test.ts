// Malformed page requests: paths, queries, ranges, headers. None causes an internal error or stops the server.
import assert from 'node:assert/strict';
import test from 'node:test';
import { seededRandom } from '@platform/kit/testing';
import { attackRounds } from '../../../e2e/src/attack-rounds.ts';
import { wireTo } from './attack/ask.ts';
import { bytesOf, pageMutant } from './attack/page-mutants.ts';
import { rawStatus } from './attack/raw.ts';
import { publishedRelease, rightsOfPages } from './attack/rights-of-pages.ts';
import { randomFrom } from './attack/wild.ts';
import { makeWorld } from './attack/world.ts';

const perPage = attackRounds(400, 25);
/** The same seed yields the same requests. */
const seed = Number(process.env['PLATFORM_ATTACK_SEED'] ?? attackRounds(Date.now() % 1_000_000, 12));

test('no request for a page makes the server fail', async (t) => {
  t.diagnostic(`seed ${seed}: PLATFORM_ATTACK_SEED=${seed} sends the same requests`);
  const unhandled: unknown[] = [];
  const count = (error: unknown): void => void unhandled.push(error);
  process.on('unhandledRejection', count);
  await using world = await makeWorld();
  await publishedRelease(world);
  using wire = wireTo(world.on.url);
  const random = randomFrom(seededRandom(seed));
  const heard: Record<string, number> = {};
  const wrong: string[] = [];
  const tokens = [await world.token(world.on.owner), await world.token(world.machine.part)];
  for (const { what, method, ask } of rightsOfPages) {
    for (let n = 0; n < perPage; n++) {
      const { path } = await ask(world);
      const right = { method, target: path, headers: [], body: '' };
      const proven = { ...right, headers: [['authorization', `Bearer ${random.pick(tokens)}`] as [string, string]] };
      const { how, request } = pageMutant(random.isLess(0.7) ? proven : right, random);
      const isCut = how === 'half a body';
      const status = await rawStatus(world.on.url, bytesOf(request), isCut).catch((error: unknown) => String(error));
      const name = typeof status === 'number' ? `${Math.floor(status / 100)}xx` : (status ?? 'closed');
      heard[name] = (heard[name] ?? 0) + 1;
      if (status === undefined || (typeof status === 'number' && status < 500)) continue;
      const line = `${what}, ${how}: ${status}; ${bytesOf(request).subarray(0, 500).toString('latin1')}`;
      wrong.push(line);
      t.diagnostic(line);
    }
    const { status } = await wire.send({ method: 'GET', path: '/readyz', headers: {} });
    assert.equal(status, 200, `after ${what}`);
  }
  t.diagnostic(`${rightsOfPages.length} pages, ${perPage} requests each: ${JSON.stringify(heard)}`);
  process.off('unhandledRejection', count);
  assert.deepEqual(unhandled, []);
  assert.equal(wrong.length, 0, 'failures of the server: the lines above name them');
});
