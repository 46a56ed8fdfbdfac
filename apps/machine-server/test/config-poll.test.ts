import { create } from '@bufbuild/protobuf';
import { durationMs } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError } from '@connectrpc/connect';
import type { Client } from '@connectrpc/connect';
import {
  ConfigRequestSchema,
  ConfigResponseSchema,
  RobotConfigSchema,
} from '@platform/contract/gen/platform/app/v1/robot_pb';
import type { RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { Cell } from '@platform/kit';
import { captureLog, FakeClock, seededRandom, tempFolder } from '@platform/kit/testing';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pollConfig } from '../src/cloud/config-poll.ts';
import type { Contact } from '../src/cloud/config-poll.ts';
import { noViews } from '../src/cloud/desired-views.ts';
import { emptyConfig } from '../src/machine-config.ts';
import type { MachineConfig } from '../src/machine-config.ts';

const minute = 60_000;

/** A management server with only the configuration poll. */
class Server {
  readonly #clock: FakeClock;
  readonly revision = new Cell(1);
  /** False: the server ignores revisions and answers at once, as public servers do. */
  holds = true;
  failure: ConnectError | undefined;
  /** State of the desired live views; undefined: the server does not know them. */
  views: (() => string) | undefined;
  calls: number[] = [];

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  readonly robot: Pick<Client<typeof RobotService>, 'config'> = {
    config: async (init, { signal = new AbortController().signal } = {}) => {
      const { knownRevision, knownViews, wait } = create(ConfigRequestSchema, init);
      this.calls.push(this.#clock.now());
      if (this.failure) throw this.failure;
      const config = () =>
        create(RobotConfigSchema, {
          revision: this.holds ? `r${this.revision.get()}` : '',
          revisionNumber: BigInt(this.revision.get()),
        });
      const state = this.views?.() ?? '';
      const desiredViews = state === knownViews ? {} : { desiredViews: { state, cameras: state ? ['front'] : [] } };
      if (knownRevision === config().revision && 'desiredViews' in desiredViews)
        return create(ConfigResponseSchema, { notModified: true, ...desiredViews });
      const waitMs = this.holds && wait ? durationMs(wait) : 0;
      if (knownRevision === config().revision && waitMs > 0) {
        const turn = new AbortController();
        const over = AbortSignal.any([turn.signal, signal]);
        await Promise.race([this.revision.changed(over), this.#clock.sleep(waitMs, over)]);
        turn.abort();
        if (signal.aborted) throw new ConnectError('given up', Code.Canceled);
        if (this.failure) throw this.failure;
      }
      const isSame = this.holds && knownRevision === config().revision;
      return create(ConfigResponseSchema, isSame ? { notModified: true } : { config: config() });
    },
  };
}

async function world() {
  const folder = await tempFolder();
  const clock = new FakeClock();
  const server = new Server(clock);
  const wanted = new Cell<MachineConfig>(emptyConfig);
  const contact = new Cell<Contact>({ isOnline: false });
  const views = new Cell(noViews);
  const { log } = captureLog(clock);
  const end = new AbortController();
  const cacheFile = folder.file('config.json');
  const done = pollConfig(
    {
      robot: server.robot,
      partId: 'p',
      version: '1.0.0',
      cacheFile,
      wanted,
      contact,
      views,
      pollMs: 5_000,
      clock,
      log,
      random: seededRandom(3),
    },
    end.signal,
  );
  const until = async (what: () => boolean): Promise<void> => {
    for (let n = 0; n < 5_000_000 && !what(); n++) await new Promise((resolve) => setImmediate(resolve));
    assert.ok(what());
  };
  /** Counts the polls during `ms`. File writes are real, so it continues once only timers are pending. */
  const pass = async (ms: number): Promise<number> => {
    const before = server.calls.length;
    const resting = () => clock.pending > 0;
    for (let left = ms; left > 0; left -= 1_000) {
      await until(resting);
      await clock.advance(Math.min(left, 1_000));
    }
    await until(resting);
    return server.calls.length - before;
  };
  await until(() => wanted.get().revision === 1);
  return {
    clock,
    server,
    wanted,
    contact,
    views,
    pass,
    until,
    async [Symbol.asyncDispose]() {
      end.abort();
      await done;
      await folder[Symbol.asyncDispose]();
    },
  };
}

test('long polls are sent once a minute, and a change arrives at once', async () => {
  await using w = await world();
  const calls = await w.pass(20 * minute);
  assert.ok(calls >= 21 && calls <= 23, `${calls} calls in twenty minutes of 55 s each`);
  w.server.revision.set(2);
  await w.pass(10);
  await w.until(() => w.wanted.get().revision === 2);
  const after = await w.pass(10 * minute);
  assert.ok(after <= 12, `${after} calls in the ten minutes after`);
});

test('a server without long polls is polled at the interval of the command line, also after one with long polls', async () => {
  await using w = await world();
  await w.pass(5 * minute);
  w.server.holds = false;
  await w.pass(minute);
  await w.until(() => w.contact.get().isOnline);
  const calls = await w.pass(10 * minute);
  assert.ok(calls >= 110 && calls <= 130, `${calls} calls in ten minutes of 5 s each`);
  w.server.revision.set(7);
  await w.pass(6_000);
  await w.until(() => w.wanted.get().revision === 7);
});

test('offline: asked again at moments of its own, never in a row, and whole again afterwards', async () => {
  await using w = await world();
  await w.pass(minute);
  w.server.failure = new ConnectError('gone', Code.Unavailable);
  await w.pass(minute);
  assert.equal(w.contact.get().isOnline, false);
  const calls = await w.pass(30 * minute);
  assert.ok(calls >= 60 && calls <= 240, `${calls} calls in half an hour`);
  w.server.failure = new ConnectError('busy', Code.Unavailable, { 'retry-after': '600' });
  await w.pass(minute);
  assert.ok((await w.pass(9 * minute)) <= 1, 'it asked for ten minutes');
  w.server.failure = undefined;
  w.server.revision.set(3);
  await w.pass(12 * minute);
  await w.until(() => w.wanted.get().revision === 3 && w.contact.get().isOnline);
  const after = await w.pass(10 * minute);
  assert.ok(after >= 10 && after <= 12, `${after} calls in ten minutes`);
});

test('a server with constant changes is polled at most five times a second', async () => {
  await using w = await world();
  const calls = { n: 0 };
  for (; calls.n < 50; calls.n++) {
    w.server.revision.set(100 + calls.n);
    await w.pass(100);
    await w.until(() => w.wanted.get().revision > 1);
  }
  assert.ok(w.server.calls.length <= 30, `${w.server.calls.length} calls in five seconds`);
});

test('desired live views end a long poll once, and nothing loops', async () => {
  await using w = await world();
  await w.pass(5 * minute);
  w.server.views = () => '1';
  await w.pass(minute);
  assert.deepEqual(w.views.get(), { state: '1', cameras: ['front'] });
  assert.ok((await w.pass(10 * minute)) <= 12, 'an answer that it knows is held');
  assert.equal(w.wanted.get().revision, 1);
  w.server.views = undefined;
  await w.pass(minute);
  assert.deepEqual(w.views.get().cameras, []);
  assert.ok((await w.pass(10 * minute)) <= 12);
  w.server.views = () => String(w.server.calls.length);
  assert.ok((await w.pass(minute)) <= 301, 'even a server that always has others is polled five times a second');
});
