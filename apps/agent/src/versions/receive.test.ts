import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { captureLog, FakeClock } from '@platform/kit/testing';
import { SimDevice } from '../os/sim/device.ts';
import { heldAfter } from './backoff.ts';
import type { Progress } from './fetch-ports.ts';
import { problemOfUrl, receive, type ReceiveParts, type Wanting } from './receive.ts';
import { evaluateTrial, type TrialOutcome } from './plans/trial-outcome.ts';

const bytes = new Uint8Array(10_000).fill(7);
const none = new AbortController().signal;

function world() {
  const clock = new FakeClock();
  const machine = new SimDevice(clock);
  machine.files.put('cache/part/x', bytes);
  machine.files.remove('cache/part/x');
  machine.releases.chunkBytes = 1_000;
  const { device } = machine.session();
  const { log } = captureLog(clock);
  const parts: ReceiveParts = { files: device.files, web: device.web, boot: 'one', clock, log };
  return {
    clock,
    machine,
    parts,
    /** Runs a download to its end while time passes. */
    async get(want: Partial<Wanting>, progress: Progress[] = []) {
      const whole = {
        url: 'https://r/x',
        sha256: '',
        sizeBytes: 0,
        part: 'x.part',
        what: 'platform-server 1.2.0',
        ...want,
      };
      const work = receive(whole, parts, (step) => progress.push(step), none);
      const state = { isOver: false };
      void work.catch(() => {}).finally(() => (state.isOver = true));
      for (let i = 0; i < 500 && !state.isOver; i++) await clock.advance(1_000);
      return work;
    },
  };
}

const addresses: [url: string, hasHash: boolean, isAllowed: boolean][] = [
  ['https://r/x', false, true],
  ['file:///tmp/x', false, true],
  ['http://r/x', false, false],
  ['http://r/x', true, true],
  ['http://127.0.0.1:8080/x', false, true],
  ['http://localhost/x', false, true],
  ['http://[::1]/x', false, true],
  ['http://127.0.0.1.evil.example/x', false, false],
  ['ftp://r/x', true, false],
  ['x', true, false],
];
for (const [url, hasHash, isAllowed] of addresses) {
  test(`${url} ${hasHash ? 'with' : 'without'} a hash: ${isAllowed ? 'fetched' : 'refused'}`, () =>
    assert.equal(problemOfUrl(url, hasHash) === undefined, isAllowed));
}

const redirects: [from: string, location: string, hasHash: boolean, outcome: RegExp | 'ok'][] = [
  ['https://r/x', 'https://cdn/x', false, 'ok'],
  ['https://r/x', '/y', false, 'ok'],
  ['http://127.0.0.1/x', 'http://127.0.0.1/y', false, 'ok'],
  ['http://r/x', 'http://cdn/x', true, 'ok'],
  ['https://r/x', 'http://cdn/x', false, /redirect to plain http/],
  ['https://r/x', 'http://cdn/x', true, /redirect to plain http/],
  ['http://127.0.0.1/x', 'http://cdn/x', false, /plain http could be changed/],
  ['https://r/x', 'file:///etc/shadow', true, /to a file of this machine/],
  ['https://r/x', 'https://r/x', false, /more than 5 redirects/],
];
for (const [from, location, hasHash, outcome] of redirects) {
  test(`redirect from ${from} to ${location}${hasHash ? ' with a hash' : ''}: ${outcome === 'ok' ? 'followed' : 'refused'}`, async () => {
    const w = world();
    w.machine.releases.answers.set(from, { status: 302, headers: { location } });
    const to = new URL(location, from).href;
    w.machine.releases.files.set(to, bytes);
    const wanted = {
      url: from,
      ...(hasHash && { sha256: 'c2a908d98f5df987ade41b5fce213067efbcc21ef2240212a41e54b5e7c28ae5' }),
    };
    const work = w.get(wanted).catch((error: unknown) => {
      if (error instanceof Error && 'code' in error && error.code === 'DOWNLOAD_CORRUPT') return undefined; // followed
      throw error;
    });
    if (outcome === 'ok') await work;
    else await assert.rejects(work, outcome);
  });
}

test('what the server asks for is waited for: Retry-After in seconds and as a date', async () => {
  const w = world();
  for (const [text, seconds] of [
    ['120', 120],
    [new Date(w.clock.wall() + 300_000).toUTCString(), 298],
    ['0', undefined],
    ['soon', undefined],
    ['99999999', 86_400],
  ] as const) {
    w.machine.releases.answers.set('https://r/x', { status: 503, headers: { 'retry-after': text } });
    const error = (await w.get({}).catch((e: unknown) => e)) as { code: string; data: Record<string, unknown> };
    assert.deepEqual([error.code, error.data['retryAfterSeconds']], ['DOWNLOAD_FAILED', seconds], text);
  }
});

test('a download that is silent, or as good as silent, is ended; the next one goes on where it stopped', async () => {
  const w = world();
  w.machine.releases.files.set('https://r/x', bytes);
  let parts = 0;
  const real = w.parts.web;
  const slow = (pauseMs: number, every: number): ReceiveParts['web'] => ({
    async ask(...args) {
      const answer = await real.ask(...args);
      const body = async function* () {
        for await (const part of answer.body) {
          if (++parts % every === 0) await w.clock.sleep(pauseMs);
          yield part;
        }
      };
      return { ...answer, body: body() };
    },
  });
  w.parts.web = slow(61_000, 5);
  await assert.rejects(w.get({}), /silent for 60 s/);
  w.parts.web = slow(59_000, 1);
  await assert.rejects(w.get({}), /slower than 1 KiB a second/);
  w.parts.web = real;
  const progress: Progress[] = [];
  const { found } = await w.get({}, progress);
  assert.equal(found.sizeBytes, bytes.length);
  assert.ok((progress[0]?.bytes ?? 0) > 5_000, 'it went on');
});

test('endless_body: never more than was announced, or than a gigabyte', async () => {
  const w = world();
  const endless: ReceiveParts['web'] = {
    async ask() {
      const body = async function* () {
        for (;;) yield new Uint8Array(2 ** 20);
      };
      return { status: 200, headers: new Map(), body: body() };
    },
  };
  w.parts.web = endless;
  await assert.rejects(w.get({ sizeBytes: 3 * 2 ** 20 }), /larger than 3145728 bytes/);
});

test('enospc_at_each_write: a full disk is reported as such', async () => {
  const w = world();
  w.machine.files.capacityBytes = 60 * 2 ** 20;
  w.machine.releases.files.set('https://r/x', bytes);
  let writes = 0;
  w.machine.fate = ({ do: what }) => (what === 'write' && ++writes > 4 ? { fail: 'ENOSPC' } : 'ok');
  await assert.rejects(w.get({}), { code: 'DISK_FULL', message: /no space left/ });
});

test('a disk without inodes is named by its numbers, not by its free space', async () => {
  const w = world();
  w.machine.files.capacityBytes = 900e6;
  w.machine.files.inodes = { total: 40, free: 0 };
  w.machine.releases.files.set('https://r/x', bytes);
  w.machine.fate = ({ do: what }) => (what === 'create' ? { fail: 'ENOSPC' } : 'ok');
  await assert.rejects(w.get({}), { code: 'DISK_FULL', message: /: 0 of 40 inodes and 900 MB are free\./ });
});

test('a refused download waits a minute, doubling to six hours, and begins anew with other bytes', () => {
  let held = heldAfter(undefined, 'a', 0, () => 0.5);
  const waits = [held.until];
  for (let i = 0; i < 10; i++) waits.push((held = heldAfter(held, 'a', 0, () => 0.5)).until);
  assert.deepEqual(
    waits.map((ms) => ms / 60_000),
    [1, 2, 4, 8, 16, 32, 64, 128, 256, 360, 360],
  );
  assert.equal(heldAfter(held, 'b', 1_000, () => 0).until, 49_000);
  assert.equal(heldAfter(held, 'b', 0, () => 1, 600_000).until, 600_000);
});

const outcomes: [name: string, now: number, doneSince: number | null, open: string[], outcome: TrialOutcome][] = [
  ['just begun', 0, null, ['a', 'b'], { at: 'waiting', until: 600_000 }],
  ['a moment before', 599_999, null, ['a'], { at: 'waiting', until: 600_000 }],
  ['too late', 600_000, null, ['a', 'b'], { at: 'failed', reason: 'after 10 minutes: a; b', code: 'SEVERAL_CHECKS' }],
  [
    'too late, one check',
    600_000,
    null,
    ['b'],
    { at: 'failed', reason: 'after 10 minutes: b', code: 'CLOUD_UNREACHED' },
  ],
  ['all done, not for long', 400_000, 350_000, [], { at: 'waiting', until: 650_000 }],
  ['all done for long enough', 650_000, 350_000, [], { at: 'proven' }],
  ['undone again', 500_000, 350_000, ['a'], { at: 'waiting', until: 600_000 }],
];
for (const [name, now, doneSince, open, outcome] of outcomes) {
  test(`a trial: ${name}`, () => {
    const codes = { a: 'NOT_READY', b: 'CLOUD_UNREACHED' } as const;
    const duties = (['a', 'b'] as const).map((what) => ({ code: codes[what], what, isDone: !open.includes(what) }));
    assert.deepEqual(
      evaluateTrial({ now, since: 0, duties, doneSince }, { withinMs: 600_000, steadyMs: 300_000 }),
      outcome,
    );
  });
}

/** A download was interrupted; then the environment changes. */
async function interrupted(want: Partial<Wanting>) {
  const w = world();
  const content = Uint8Array.from({ length: 10_000 }, (_, i) => i % 251);
  w.machine.releases.files.set('https://r/x', content);
  let left = 5;
  w.machine.releases.fate = (_url, what) => (what === 'part' && left-- === 0 ? 'error' : 'ok');
  await assert.rejects(w.get(want), { code: 'DOWNLOAD_FAILED' });
  w.machine.releases.fate = () => 'ok';
  const asked: (string | undefined)[] = [];
  const { web } = w.parts;
  w.parts.web = {
    ask: (method, url, headers, signal) => (asked.push(headers['range']), web.ask(method, url, headers, signal)),
  };
  const whole = async (): Promise<boolean> =>
    Buffer.from(w.machine.files.get((await w.get(want)).path)?.bytes ?? []).equals(Buffer.from(content));
  return { ...w, asked, whole };
}
const sha256 = createHash('sha256')
  .update(Uint8Array.from({ length: 10_000 }, (_, i) => i % 251))
  .digest('hex');

test('a part without a known hash is gone on with while the machine runs, not after a power cut that may have torn it', async () => {
  const same = await interrupted({});
  assert.deepEqual([await same.whole(), same.asked], [true, ['bytes=5000-']]);
  const other = await interrupted({});
  other.machine.files.get('cache/part/x.part')!.bytes.fill(0, 3_000); // a file system may leave zeros
  other.parts.boot = 'two';
  assert.deepEqual([await other.whole(), other.asked], [true, [undefined]]);
  const unknown = await interrupted({});
  unknown.parts.boot = '';
  assert.deepEqual([await unknown.whole(), unknown.asked], [true, [undefined]]);
  // With a hash, the damage is detected.
  const hashed = await interrupted({ sha256 });
  hashed.machine.files.get('cache/part/x.part')!.bytes.fill(0, 3_000);
  hashed.parts.boot = 'two';
  assert.deepEqual([await hashed.whole(), hashed.asked], [true, ['bytes=5000-', undefined]]);
});

test('a server that answers with another range than the requested one gets a request for the whole file', async () => {
  for (const range of [undefined, 'bytes 0-4999/10000', 'bytes 6000-9999/10000', 'rubbish']) {
    const w = await interrupted({});
    const { web } = w.parts;
    w.parts.web = {
      async ask(method, url, headers, signal) {
        const answer = await web.ask(method, url, headers, signal);
        const changed = new Map(answer.headers);
        changed.delete('content-range');
        if (range !== undefined) changed.set('content-range', range);
        return { ...answer, headers: answer.status === 206 ? changed : answer.headers };
      },
    };
    assert.deepEqual([await w.whole(), w.asked], [true, ['bytes=5000-', undefined]], range);
  }
});

test('an unrequested part of a file is not used', async () => {
  const w = world();
  w.machine.releases.answers.set('https://r/x', { status: 206, headers: { 'content-range': 'bytes 0-9/100' } });
  await assert.rejects(w.get({}), { code: 'DOWNLOAD_FAILED' });
});

test('a download of unknown length leaves room on the disk, and goes on when there is more', async () => {
  const w = world();
  const mebibyte = 2 ** 20;
  const chunk = new Uint8Array(8 * mebibyte).fill(1);
  const total = 6;
  w.parts.web = {
    ask: async (_method, _url, headers) => {
      const from = Number(/\d+/.exec(headers['range'] ?? '')?.[0] ?? 0);
      const body = (async function* () {
        for (let at = from; at < total * chunk.length; at += chunk.length) yield chunk;
      })();
      const range = `bytes ${from}-${total * chunk.length - 1}/*`;
      return {
        status: from > 0 ? 206 : 200,
        headers: new Map([
          ['etag', '"1"'],
          ['content-range', range],
        ]),
        body,
      };
    },
  };
  w.machine.files.capacityBytes = 80 * mebibyte;
  await assert.rejects(w.get({}), { code: 'DISK_FULL' });
  assert.ok(w.machine.files.usedBytes() <= 33 * mebibyte, `${w.machine.files.usedBytes()} bytes are used`);
  w.machine.files.capacityBytes = Infinity;
  assert.equal((await w.get({})).found.sizeBytes, total * chunk.length);
});
