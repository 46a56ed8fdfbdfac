// A set-up code that a user enters in place of credentials.
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { codeHeader, deviceHeader, redeemPath } from '@platform/contract/provisioning/set-up-code';
import { Cell } from '@platform/kit';
import { captureLog, FakeClock, tempFolder } from '@platform/kit/testing';
import type { Condition } from '../health/conditions.ts';
import { Credentials } from './credentials.ts';
import { SetUpCode } from './set-up-code.ts';

const text = 'abcd-efgh@http://cloud.example:8080';
const file = (id: string): string =>
  JSON.stringify({ cloud: { app_address: 'http://cloud.example:8080', id, secret: 'secret-1' } });
const wrong = () => Response.json({ code: 'not_found', message: 'SET_UP_CODE_INVALID: …' }, { status: 404 });

/** A machine in a folder that outlives its agent. `server`: answers a request, or throws as fetch does. */
async function world() {
  const folder = await tempFolder();
  const clock = new FakeClock();
  const conditions = new Cell<readonly Condition[]>([]);
  const captured = captureLog(clock);
  const requests: { url: string; code: string | null; device: string | null }[] = [];
  const state = { server: (): Response => Promise.reject(new TypeError('fetch failed')) as never };
  const send = (async (url, init) => {
    const headers = new Headers(init?.headers);
    requests.push({ url: String(url), code: headers.get(codeHeader), device: headers.get(deviceHeader) });
    return state.server();
  }) as typeof fetch;
  /** Starts the agent; `stop` is a power cut. */
  async function start() {
    const parts = { conditions, clock, log: captured.log };
    const setUpCode = new SetUpCode({
      ...parts,
      file: folder.file('code.json'),
      connect: async () => send,
      version: '1.2.3',
      fragmentId: 'f-1',
    });
    await setUpCode.load();
    const [own, copy] = [folder.file('platform.json'), folder.file('last-good.json')];
    const credentials = new Credentials({ ...parts, file: own, copy, setUpCode });
    await credentials.reload();
    const end = new AbortController();
    const done = credentials.redeem(end.signal);
    const until = async (isTrue: () => boolean): Promise<void> => {
      // Files are real: a slow disk takes longer than any number of simulated seconds.
      for (const limit = performance.now() + 30_000; !isTrue() && performance.now() < limit;) {
        await new Promise((resolve) => setImmediate(resolve));
        await clock.advance(100);
      }
      assert.ok(isTrue());
    };
    const stop = async (): Promise<void> => {
      end.abort();
      await done;
    };
    return { credentials, setUpCode, until, stop, part: () => credentials.found.get()?.credentials.partId };
  }
  return {
    state,
    requests,
    start,
    clock,
    folder,
    codes: () => conditions.get().map(({ code }) => code),
    warnings: () => captured.lines.filter(({ level }) => level === 'warn').length,
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

test('story: entered without a network, kept over a power cut, redeemed when the server can be reached', async () => {
  await using w = await world();
  const first = await w.start();
  assert.equal(first.credentials.hasCredentials.get(), false);
  assert.deepEqual(await first.credentials.take(text), { ok: true });
  await first.until(() => first.credentials.hasCredentials.get());
  await first.until(() => w.requests.length > 20);
  assert.ok(w.clock.now() > 100_000, 'with growing delay');
  assert.equal(w.warnings(), 1, 'logged once');
  await first.stop();

  const second = await w.start();
  await second.until(() => second.credentials.hasCredentials.get());
  w.state.server = () => new Response(file('part-1'));
  await second.until(() => second.part() === 'part-1');
  await second.until(() => second.setUpCode.pending.get() === undefined);
  assert.deepEqual(w.codes(), []);
  assert.equal(await readFile(w.folder.file('platform.json'), 'utf8'), file('part-1'));
  await assert.rejects(readFile(w.folder.file('code.json')), /ENOENT/);
  const [request] = w.requests;
  assert.deepEqual([request?.url, request?.code], [`http://cloud.example:8080${redeemPath}`, 'ABCDEFGH']);
  assert.equal(new Set(w.requests.map(({ device }) => device)).size, 1, 'one device, also after the power cut');
  await second.stop();
});

test('a power cut after the credentials were stored: the code is redeemed again and forgotten', async () => {
  await using w = await world();
  const first = await w.start();
  await first.credentials.take(text);
  await first.stop();
  await writeFile(w.folder.file('platform.json'), file('part-1'));
  w.state.server = () => new Response(file('part-1'));
  const second = await w.start();
  await second.until(() => second.setUpCode.pending.get() === undefined);
  assert.equal(second.part(), 'part-1');
  await second.stop();
});

test('a refused code is named, and another one is taken', async () => {
  await using w = await world();
  w.state.server = wrong;
  const agent = await w.start();
  await agent.credentials.take(text);
  await agent.until(() => w.codes().includes('SET_UP_CODE_INVALID'));
  await agent.until(() => !agent.credentials.hasCredentials.get());
  const before = w.requests.length;
  await w.clock.advance(3_600_000);
  assert.equal(w.requests.length, before, 'a refused code is not repeated');
  w.state.server = () => new Response(file('part-2'));
  assert.deepEqual(await agent.credentials.take(text.replace('abcd', 'zzzz')), { ok: true });
  await agent.until(() => agent.part() === 'part-2');
  assert.ok(!w.codes().includes('SET_UP_CODE_INVALID'));
  await agent.stop();
});

test('what is not the answer of the server keeps the code: a sign-in page, another error, a huge answer', async () => {
  await using w = await world();
  const answers = [
    () => new Response('<html>sign in</html>'),
    () => new Response('', { status: 429 }),
    () => new Response('not found', { status: 404 }),
    () => new Response('x'.repeat(100_000)),
    () => new Response('', { status: 302, headers: { location: 'http://elsewhere' } }),
  ];
  w.state.server = () => (answers.shift() ?? (() => new Response(file('part-1'))))();
  const agent = await w.start();
  await agent.credentials.take(text);
  await agent.until(() => agent.part() === 'part-1');
  assert.deepEqual(answers, []);
  await agent.stop();
});

test('a machine that has its credentials takes no code', async () => {
  await using w = await world();
  await writeFile(w.folder.file('platform.json'), file('part-1'));
  const agent = await w.start();
  const taken = await agent.credentials.take(text);
  assert.equal(taken.ok, false);
  assert.equal(!taken.ok && taken.code, 'OTHER_CREDENTIALS');
  assert.equal(w.requests.length, 0);
  await agent.stop();
});

/** A machine that shares the credentials of part-1, and is sent a code. */
async function shared(w: Awaited<ReturnType<typeof world>>) {
  await writeFile(w.folder.file('platform.json'), file('part-1'));
  await writeFile(w.folder.file('platform.json.old'), file('part-0'));
  return w.start();
}

test('a code that the server sent replaces the credentials, also when the power fails in the middle', async () => {
  await using w = await world();
  const first = await shared(w);
  await first.credentials.split('ABCDEFGH');
  await first.until(() => w.requests.length > 2);
  assert.equal(first.part(), 'part-1', 'it works as before, while the server does not answer');
  assert.equal(first.credentials.pendingCode.get(), undefined, 'nothing for users at the hotspot');
  await first.stop();

  const second = await w.start(); // the server has redeemed the code, and its answer was lost
  w.state.server = () => new Response(file('part-2'));
  await second.until(() => second.part() === 'part-2');
  await second.until(() => second.setUpCode.pending.get() === undefined);
  await second.stop();
  assert.equal(new Set(w.requests.map(({ device }) => device)).size, 1, 'one device');
  const [request] = w.requests;
  assert.deepEqual([request?.url, request?.code], [`http://cloud.example:8080${redeemPath}`, 'ABCDEFGH']);
  assert.equal(await readFile(w.folder.file('platform.json'), 'utf8'), file('part-2'));
  assert.equal(await readFile(w.folder.file('last-good.json'), 'utf8'), file('part-2'));
  for (const gone of ['code.json', 'platform.json.old']) await assert.rejects(readFile(w.folder.file(gone)), /ENOENT/);
  assert.deepEqual(w.codes(), []);

  const third = await w.start();
  assert.equal(third.part(), 'part-2');
  await third.stop();
});

test('a code that the server sent and refuses is tried once, and the machine goes on as it is', async () => {
  await using w = await world();
  w.state.server = wrong;
  const agent = await shared(w);
  for (let n = 0; n < 5; n++) {
    await agent.credentials.split('ABCDEFGH'); // each answer of the server holds it
    await agent.until(() => agent.setUpCode.pending.get() === undefined);
  }
  assert.equal(w.requests.length, 1);
  assert.deepEqual(w.codes(), []);
  assert.equal(agent.part(), 'part-1');
  w.state.server = () => new Response(file('part-2'));
  await agent.credentials.split('ZZZZEFGH');
  await agent.until(() => agent.part() === 'part-2');
  await agent.stop();
});

test('a code for another part than the one in use replaces nothing', async () => {
  await using w = await world();
  const first = await shared(w);
  await first.credentials.split('ABCDEFGH');
  await first.stop();
  await writeFile(w.folder.file('platform.json'), file('part-3'));
  w.state.server = () => new Response(file('part-2'));
  const second = await w.start();
  await second.until(() => second.setUpCode.pending.get() === undefined);
  assert.equal(second.part(), 'part-3');
  await second.stop();
});
