import { createSocket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import type { Clock } from '@platform/kit';

const port = 53;

/** Sends a datagram to a name server, again after each pause, until an answer is taken. Undefined: none was. Never rejects. */
export async function askNameServer<T>(
  of: { server: string; question: Buffer; pausesMs: readonly number[]; clock: Clock; port?: number },
  isAnswer: (answer: Buffer) => T | undefined,
  signal: AbortSignal,
): Promise<T | undefined> {
  const { server, question, pausesMs, clock } = of;
  const socket = createSocket(isIPv6(server) ? 'udp6' : 'udp4');
  const done = new AbortController();
  const over = AbortSignal.any([signal, done.signal]);
  let found: T | undefined;
  socket.on('error', () => {}); // refused: the next repetition may be answered
  socket.on('message', (answer) => {
    found ??= isAnswer(answer);
    if (found !== undefined) done.abort();
  });
  try {
    for (const pauseMs of pausesMs) {
      if (over.aborted) break;
      socket.send(question, of.port ?? port, server, () => {});
      await clock.sleep(pauseMs, over);
    }
    return found;
  } catch {
    return undefined; // not an address
  } finally {
    socket.close();
  }
}
