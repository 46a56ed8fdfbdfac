import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { Socket } from 'node:net';
import type { Cell } from '@platform/kit';
import type { RelayPresence } from '../../posix/output-relay.ts';
import type { PresencePipes } from '../../relay-places.ts';
import { pipeReader } from './libc.ts';

const { O_NONBLOCK, O_RDONLY, O_RDWR, O_WRONLY } = constants;

/** Undefined: no relay reads the pipe of agents. It has ended, or its version does not know these pipes. */
export function joinRelay(pipes: PresencePipes): RelayPresence | undefined {
  const held: number[] = [];
  try {
    // In this order: a pipe opened without a writer never reports its end.
    const alive = openSync(pipes.relay, O_RDONLY | O_NONBLOCK);
    held.push(alive);
    const own = openSync(pipes.agent, O_WRONLY | O_NONBLOCK); // ENXIO without a reader
    held.push(own);
    const { closed, close } = untilClosed(alive);
    return { closed: closed.then(() => closeSync(own)), close };
  } catch {
    for (const file of held) closeSync(file);
    return undefined;
  }
}

/**
 * Holds the relay's pipe until the process ends, and counts the agents' pipe in `watchers` while it has a writer. Does
 * nothing without pipes. Its calls block one thread of the runtime, as those on the output pipes do.
 */
export function holdPresence(pipes: PresencePipes, watchers: Cell<number>, signal: AbortSignal): void {
  let reader: number;
  try {
    openSync(pipes.relay, 'r+');
    reader = openSync(pipes.agent, O_RDONLY | O_NONBLOCK); // an agent finds it between two turns of the loop, too
  } catch {
    return; // started by an agent of a version without them
  }
  // Not by its name: an uninstalled agent has removed that.
  signal.addEventListener('abort', () => wakeReader(`/proc/self/fd/${reader}`), { once: true });
  void countAgents(pipes.agent, watchers, signal).catch(() => {}); // the folder is gone: the agent is uninstalled
}

async function countAgents(pipe: string, watchers: Cell<number>, signal: AbortSignal): Promise<void> {
  const buffer = Buffer.alloc(1);
  while (!signal.aborted) {
    await using handle = await open(pipe, 'r'); // waits for a writer
    watchers.update((n) => n + 1);
    try {
      while (!signal.aborted && (await handle.read(buffer, 0, 1, null)).bytesRead > 0);
    } finally {
      watchers.update((n) => n - 1);
    }
  }
}

/** Ends a blocking call on the pipe: Node waits for its threads before it exits. */
function wakeReader(pipe: string): void {
  try {
    const file = openSync(pipe, O_RDWR | O_NONBLOCK);
    writeSync(file, '\n');
    closeSync(file);
  } catch {
    // no /proc
  }
}

/** Waits for the end of a pipe by the event loop, ignores its data, and closes the file. */
function untilClosed(file: number): RelayPresence {
  const reader = pipeReader(file);
  if (!reader) {
    const socket = new Socket({ fd: file, readable: true, writable: false });
    socket.unref().resume();
    socket.on('error', () => {});
    return {
      closed: new Promise((resolve) => socket.once('close', () => resolve())),
      close: () => void socket.destroy(),
    };
  }
  const read = async (): Promise<void> => {
    try {
      while (!(await reader.read()).done);
    } finally {
      closeSync(file);
    }
  };
  return { closed: read().catch(() => {}), close: () => void reader.cancel().catch(() => {}) };
}
