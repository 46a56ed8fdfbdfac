import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { mutations } from './kill-points-mutations.ts';

const workers = 2;

test('the test of the test: mistakes in the order, the flushes and the limits of the update code are found', async () => {
  const names = mutations.map(({ name }) => name);
  assert.ok(names.length >= 12);
  const results = new Map<string, string | undefined>();
  const parts = Array.from({ length: workers }, (_, part) => names.filter((_name, i) => i % workers === part));
  await Promise.all(
    parts.map(async (part) => {
      for (const each of part) {
        const worker = new Worker(new URL('kill-points-mutations.ts', import.meta.url), { workerData: [each] });
        worker.on('message', ({ name, found }: { name: string; found: string | undefined }) =>
          results.set(name, found),
        );
        await once(worker, 'exit');
      }
    }),
  );
  assert.equal(results.size, names.length);
  const missed = names.filter((name) => results.get(name) === undefined);
  assert.deepEqual(missed, []);
  for (const [name, found] of results) console.log(`found: ${name} — ${found?.slice(0, 160)}`);
  console.log(`${names.length} mutations, ${names.length - missed.length} found`);
});
