// Authorization in two steps: a caller changes or asks for something, then what it opened is used.
import assert from 'node:assert/strict';
import test from 'node:test';
import { wireTo } from './attack/ask.ts';
import { unproven } from './attack/callers.ts';
import { contentsOf } from './attack/contents.ts';
import { trialsOfCredentials } from './attack/credential-steps.ts';
import { tryAll } from './attack/matrix.ts';
import { trialsOfSteps } from './attack/two-steps.ts';
import { makeWorld } from './attack/world.ts';

test('no caller opens to a machine, or by credentials it gets, what it may not use itself', async (t) => {
  await using world = await makeWorld();
  using wire = wireTo(world.on.url);
  const contents = await contentsOf(world.on.db, world.on.server.dataFolder);
  const unauthenticated = await unproven(world);
  const { counts, wrong } = await tryAll({ world, contents, unauthenticated }, [
    ...trialsOfSteps(world, wire),
    ...trialsOfCredentials(world, wire),
  ]);
  t.diagnostic(JSON.stringify(counts));
  for (const line of wrong) t.diagnostic(line);
  assert.equal(wrong.length, 0, 'wrong answers: the lines above name them');
});
