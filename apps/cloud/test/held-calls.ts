// Holds the n-th call of a request into the database or the file store. Meanwhile its caller can disconnect.
import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as turn } from 'node:timers/promises';
import { Client } from 'pg';
import type { Around } from '../src/server.ts';

type Query = (...args: unknown[]) => unknown;
type Emit = (name: string | symbol, ...args: unknown[]) => boolean;

export type HeldCalls = Disposable & {
  around: Around;
  /** Holds database notifications from now on. `reached` resolves with the first one. */
  holdNotifications(): { reached: Promise<void>; release(): void };
  /** Resolves when no request makes calls any more. @returns the number of calls since the last `hold`. */
  quiet(): Promise<number>;
  /** Holds the n-th call from now on. Its `reached` resolves when a request arrives at it. */
  hold(nth: number): Hold;
};
export type Hold = {
  reached: Promise<void>;
  /** Releases the call and waits until its request makes no more calls. */
  release(): Promise<void>;
};

type State = { nth: number; seen: number; running: number; reached(): void; released: Promise<void> };

export function heldCalls(): HeldCalls {
  // Calls of the server itself, for example its sweeps, are not counted.
  const requests = new AsyncLocalStorage<true>();
  const current: { state: State | undefined } = { state: undefined };
  const held = async <T>(call: () => T): Promise<Awaited<T>> => {
    const { state } = current;
    if (!state) return await call();
    state.running++;
    try {
      if (++state.seen === state.nth) {
        state.reached();
        await state.released;
      }
      return await call();
    } finally {
      state.running--;
    }
  };
  const prototype = Client.prototype as unknown as { query: Query; emit: Emit };
  const { query, emit } = prototype;
  const notifications: { deliver: (() => void)[] | undefined; reached(): void } = { deliver: undefined, reached() {} };
  prototype.emit = function patched(this: unknown, name, ...args) {
    const { deliver } = notifications;
    if (name !== 'notification' || !deliver) return emit.call(this, name, ...args);
    deliver.push(() => emit.call(this, name, ...args));
    notifications.reached();
    return true;
  };
  // Follow-up calls start within a few turns of the event loop.
  const settled = async (state: State): Promise<void> => {
    for (let quiet = 0; quiet < 5; quiet = state.running === 0 ? quiet + 1 : 0) await turn();
  };
  prototype.query = function patched(this: unknown, ...args: unknown[]) {
    const isPlain = requests.getStore() === true && typeof args[0] === 'string';
    return isPlain ? held(() => query.apply(this, args)) : query.apply(this, args);
  };
  return {
    around: {
      request: (handle) => requests.run(true, handle),
      blobs: (blobs) => ({
        checkWritable: () => blobs.checkWritable(),
        put: (...args) => held(() => blobs.put(...args)),
        head: (...args) => held(() => blobs.head(...args)),
        get: (...args) => held(() => blobs.get(...args)),
        pathOf: (sha256) => blobs.pathOf(sha256),
        touch: (...args) => held(() => blobs.touch(...args)),
        list: (...args) => held(() => blobs.list(...args)),
        deleteStoredBefore: (...args) => held(() => blobs.deleteStoredBefore(...args)),
        delete: (...args) => held(() => blobs.delete(...args)),
      }),
    },
    hold(nth) {
      const reached = Promise.withResolvers<void>();
      const released = Promise.withResolvers<void>();
      const state: State = { nth, seen: 0, running: 0, reached: reached.resolve, released: released.promise };
      current.state = state;
      return {
        reached: reached.promise,
        async release() {
          released.resolve();
          await settled(state);
          current.state = undefined;
        },
      };
    },
    holdNotifications() {
      const reached = Promise.withResolvers<void>();
      const waiting: (() => void)[] = [];
      Object.assign(notifications, { deliver: waiting, reached: reached.resolve });
      return {
        reached: reached.promise,
        release() {
          notifications.deliver = undefined;
          for (const deliver of waiting) deliver();
        },
      };
    },
    async quiet() {
      const { state } = current;
      if (!state) return 0;
      await settled(state);
      return state.seen;
    },
    [Symbol.dispose]() {
      prototype.query = query;
      prototype.emit = emit;
    },
  };
}
