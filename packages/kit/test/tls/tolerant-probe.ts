// Makes the calls that its argument lists, one after the other by one fetch, and prints what came of each; see
// clock-tolerant-fetch.test.ts.
import { createHash } from 'node:crypto';
import { clockTolerantFetch } from '../../src/node/tls/clock-tolerant-fetch.ts';

export interface ProbeOrder {
  floor: number;
  /** Added to the clock of the system; what the runtime sees is the system's own. */
  ahead?: number;
  isSynchronized?: boolean;
  trusted?: { origin: string; pem: string };
  calls: { url: string; body?: string; redirect?: 'manual' | 'error'; abortMs?: number }[];
}

export interface ProbeOutcome {
  status?: number;
  bytes?: number;
  sha256?: string;
  error?: string;
  proven?: number;
}

const order = JSON.parse(process.argv[2] ?? '') as ProbeOrder;
const heard: { proven?: number } = {};
const call = clockTolerantFetch({
  clock: { now: () => performance.now(), wall: () => Date.now() + (order.ahead ?? 0) },
  env: process.env,
  floor: () => order.floor,
  trusted: order.trusted,
  isSynchronized: () => Promise.resolve(order.isSynchronized === true),
  proven: (proven) => void Object.assign(heard, { proven }),
});

const codeOf = (error: unknown): string => {
  for (let e = error; e instanceof Error; e = e.cause) if ('code' in e && typeof e.code === 'string') return e.code;
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
};

async function outcomeOf({ url, body, redirect = 'manual', abortMs }: ProbeOrder['calls'][number]) {
  delete heard.proven;
  const headers = { 'accept-encoding': 'gzip', authorization: 'Bearer secret' };
  const signal = AbortSignal.timeout(abortMs ?? 20_000);
  try {
    const answer = await call(url, {
      method: body === undefined ? 'GET' : 'POST',
      headers,
      redirect,
      signal,
      body: body ?? null,
    });
    const hash = createHash('sha256');
    let bytes = 0;
    for await (const part of (answer.body ?? []) as AsyncIterable<Uint8Array>) {
      hash.update(part);
      bytes += part.length;
    }
    return { status: answer.status, bytes, sha256: hash.digest('hex'), ...heard };
  } catch (error) {
    return { error: codeOf(error), ...heard };
  }
}

for (const one of order.calls) process.stdout.write(`${JSON.stringify(await outcomeOf(one))}\n`);
process.exit(0);
