import type { Client } from 'pg';
import type { Clock } from '@platform/kit';
import { cut } from './database.ts';

/** Checks periodically whether a connection still answers, and cuts it if not. */
export type Heartbeat = {
  /** Checks now. Resolves with false if no answer arrives in time; never rejects. */
  isAnswering(limitMs: number): Promise<boolean>;
  /** Runs another statement after the waiting ones. */
  query(statement: string): Promise<unknown>;
  stop(): void;
};

const everyMs = 1_000;
/** Waits in turns of `turnMs`: a process that was suspended itself must not blame the database. */
const turns = 10;
const turnMs = 500;

export function heartbeat(client: Client, clock: Clock, statement: string): Heartbeat {
  const stopped = new AbortController();
  client.once('end', () => stopped.abort());
  const asked: { now: Promise<boolean> | undefined } = { now: undefined };
  const last: { done: Promise<unknown> } = { done: Promise.resolve() };
  /** Runs one statement at a time. */
  const query = (text: string): Promise<unknown> => {
    const result = last.done.then(() => client.query(text));
    last.done = result.catch(() => {});
    return result;
  };
  const ask = (): Promise<boolean> => {
    asked.now ??= query(statement)
      .then(
        () => true,
        () => false,
      )
      .finally(() => (asked.now = undefined));
    return asked.now;
  };
  const inTime = async (answer: Promise<boolean>, ms: number): Promise<boolean | undefined> => {
    const done = new AbortController();
    const late = clock.sleep(ms, AbortSignal.any([done.signal, stopped.signal])).then(() => undefined);
    const found = await Promise.race([answer, late]);
    done.abort();
    return found;
  };
  const isHeard = async (answer: Promise<boolean>): Promise<boolean> => {
    for (let turn = 0; turn < turns && !stopped.signal.aborted; turn++) {
      const found = await inTime(answer, turnMs);
      if (found !== undefined) return found;
    }
    return false;
  };
  const beat = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      if (!(await isHeard(ask())) && !stopped.signal.aborted) cut(client);
      await clock.sleep(everyMs, stopped.signal);
    }
  };
  void beat();
  return {
    query,
    isAnswering: async (limitMs) => !stopped.signal.aborted && (await inTime(ask(), limitMs)) === true,
    stop: () => stopped.abort(),
  };
}
