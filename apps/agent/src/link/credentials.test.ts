import assert from 'node:assert/strict';
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import type { Clock } from '@platform/kit';
import { captureLog, tempFolder } from '@platform/kit/testing';
import { awaitCredentials } from './credentials.ts';

const good = JSON.stringify({ cloud: { app_address: 'http://cloud.example', id: 'part-1', secret: 'secret-1' } });
const other = good.replace('part-1', 'part-2');

/** A clock whose sleeps the test can observe and end. */
class Naps implements Clock {
  #waiting = Promise.withResolvers<() => void>();
  now = (): number => 0;
  wall = (): number => 0;
  sleep = async (ms: number, signal?: AbortSignal): Promise<void> => {
    if (signal?.aborted) return;
    assert.equal(ms, 10_000);
    await new Promise<void>((wake) => this.#waiting.resolve(wake));
  };
  /** Resolves when code under test sleeps. */
  async next(): Promise<() => void> {
    const wake = await this.#waiting.promise;
    this.#waiting = Promise.withResolvers();
    return wake;
  }
}

async function world() {
  const folder = await tempFolder();
  const clock = new Naps();
  const captured = captureLog(clock);
  const reports: string[] = [];
  const end = new AbortController();
  const [file, copy] = [folder.file('platform.json'), folder.file('last-good.json')];
  const wait = () =>
    awaitCredentials(file, { copy, tell: (t) => reports.push(t), clock, log: captured.log }, end.signal);
  return {
    clock,
    captured,
    reports,
    end,
    file,
    copy,
    wait,
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

test('a good file: used, and copied for its owner alone', async () => {
  await using w = await world();
  await writeFile(w.file, good);
  const found = await w.wait();
  assert.deepEqual([found?.credentials.partId, found?.file, found?.problem], ['part-1', w.file, undefined]);
  assert.equal(await readFile(w.copy, 'utf8'), good);
  assert.equal((await stat(w.copy)).mode & 0o777, 0o600);
});

test('by an API key', async () => {
  await using w = await world();
  await writeFile(w.file, '{"cloud": {"app_address": "http://h/", "id": "part", "api_key": {"id": "k", "key": "v"}}}');
  assert.deepEqual((await w.wait())?.credentials, {
    appAddress: 'http://h',
    partId: 'part',
    entity: 'k',
    type: 'api-key',
    payload: 'v',
  });
});

const bad: readonly [string, string | undefined, RegExp][] = [
  ['missing', undefined, /there is no such file/],
  ['empty', '', /it is empty/],
  ['truncated', good.slice(0, 40), /not a JSON object/],
  ['of wrong types', '{"cloud": {"app_address": 7, "id": [], "secret": {}}}', /cloud\.app_address/],
  ['without a secret', '{"cloud": {"app_address": "http://x", "id": "a"}}', /cloud\.secret/],
  ['a list', '[]', /not a JSON object/],
  ['huge', `"${'x'.repeat(70_000)}"`, /larger than 65536 bytes/],
];
for (const [name, text, problem] of bad) {
  test(`credentials ${name}: the agent waits, logs the problem once, and uses them as soon as they are good`, async () => {
    await using w = await world();
    if (text !== undefined) await writeFile(w.file, text);
    const waiting = w.wait();
    for (let i = 0; i < 4; i++) (await w.clock.next())();
    const wake = await w.clock.next();
    assert.equal(w.reports.length, 5, 'who watches over the agent hears of it at each look');
    assert.match(w.reports[0] ?? '', problem);
    const lines = w.captured.lines.filter((l) => l.level === 'error');
    assert.equal(lines.length, 1);
    assert.match(String(lines[0]?.fields['remedy']), /Copy the credentials/);
    assert.doesNotMatch(w.captured.text(), /secret-1/);
    await writeFile(w.file, good);
    wake();
    assert.equal((await waiting)?.credentials.partId, 'part-1');
  });

  test(`credentials ${name} after they were good: the last good ones are used, but not when they were taken away`, async () => {
    await using w = await world();
    await writeFile(w.file, good);
    await w.wait();
    await rm(w.file);
    if (text !== undefined) await writeFile(w.file, text);
    else {
      w.end.abort();
      assert.equal(await w.wait(), undefined);
      return;
    }
    const found = await w.wait();
    assert.deepEqual([found?.credentials.partId, found?.file], ['part-1', w.copy]);
    assert.match(found?.problem?.message ?? '', problem);
    await writeFile(w.file, other);
    assert.equal((await w.wait())?.credentials.partId, 'part-2');
  });
}

test('a folder in place of the file, and a folder that takes no copy', async () => {
  await using w = await world();
  await mkdir(w.file);
  w.end.abort();
  assert.equal(await w.wait(), undefined);
  await using fresh = await world();
  await writeFile(fresh.file, good);
  await mkdir(fresh.copy);
  assert.equal((await fresh.wait())?.credentials.partId, 'part-1');
  assert.match(fresh.captured.lines.map((l) => l.message).join(), /credentials are not copied/);
});
