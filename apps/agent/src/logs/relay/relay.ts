import { closeSync, openSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import path from 'node:path';
import { logLimits } from '@platform/contract/logs/limits';
import { Cell, type Clock, anyChanged } from '@platform/kit';
import { parseHeader } from '../../os/output-marks.ts';
import { stderrFile, stdoutFile } from '../../server/watch.ts';
import { linesFile, relayPlaces, type PresencePipes } from '../../os/relay-places.ts';
import { LineSocket, takenIn } from './line-socket.ts';
import { DropMarks, OutputStream } from './output-stream.ts';
import { RollingFile } from './rolling-file.ts';

export interface RelayParts {
  root: string;
  /** The folder of the pipes and the socket. */
  folder: string;
  /** The folder for lines while the disk is full. */
  spareFolder: string | undefined;
  newId: () => string;
  /** Sets the capacity of a pipe. @throws Error if this is not possible */
  growPipe: (file: number, bytes: number) => Promise<void>;
  /** Shows agents that this relay runs, and counts them in `watchers`. */
  holdPresence: (pipes: PresencePipes, watchers: Cell<number>, signal: AbortSignal) => void;
  clock: Clock;
}

const chunkBytes = 64 * 1024;
/** The default maximum of Linux for unprivileged users. */
const pipeBytes = 2 ** 20;
const limits = { totalBytes: logLimits.outputBytes, segmentBytes: 2 ** 20, queueBytes: 2 * 2 ** 20 };

/**
 * Reads the output of a machine server from two pipes and a socket into bounded files. So the server never waits for a
 * disk or an agent, and the budget limits what reaches the disk. It is a separate process because the machine server
 * outlives its agent. Resolves when the server has exited and all output is in the files, or at once if another relay
 * runs. Decision 0031.
 */
export async function relayOutput(relay: RelayParts): Promise<void> {
  const { root, folder, spareFolder, newId, growPipe, clock } = relay;
  const places = relayPlaces(folder);
  const storedLines = path.join(root, linesFile);
  const found = await readFile(storedLines, 'utf8').catch(() => '');
  const header = parseHeader(found.slice(0, Math.max(0, found.indexOf('\n'))));
  const taken = takenIn(found, header?.taken ?? {});
  const over = new AbortController();
  const watchers = new Cell(0);
  const rolling = (file: string): { file: RollingFile; marks: DropMarks } => {
    const parts = {
      file: path.join(root, file),
      spareFolder,
      limits,
      newId,
      ...(file === linesFile && { taken: () => Object.fromEntries(taken) }),
    };
    const made: RollingFile = new RollingFile({
      ...parts,
      unflushed: flushesWithoutAgent({ watchers, flush: () => made.flush(), clock, signal: over.signal }),
      lost: (lines, because) => marks.add(lines, because),
    });
    const marks = new DropMarks({ file: made, clock });
    return { file: made, marks };
  };
  const [stdout, stderr, lines] = [stdoutFile, stderrFile, linesFile].map(rolling) as [
    ReturnType<typeof rolling>,
    ReturnType<typeof rolling>,
    ReturnType<typeof rolling>,
  ];
  const looks = new Cell(0);
  const socket = new LineSocket({
    socketFile: places.socket,
    ...lines,
    taken,
    watched: () => looks.update((n) => n + 1),
    watchers,
    clock,
  });
  // Before the first answer, so that an agent finds a reader.
  relay.holdPresence(places.presence, watchers, over.signal);
  if (!(await socket.listen())) return over.abort();
  const streams = [
    { pipe: places.stdout, stream: new OutputStream({ ...stdout, clock }) },
    { pipe: places.stderr, stream: new OutputStream({ ...stderr, clock }) },
  ];
  const ended = new Cell(0);
  for (const { pipe, stream } of streams) void pump(pipe, stream, { ended, looks, growPipe }, over.signal);
  while (ended.get() < streams.length || socket.senders.get() > 0) {
    await anyChanged([ended, socket.senders], over.signal);
  }
  socket.close(); // from here on another relay may start
  over.abort();
  for (const { stream } of streams) stream.end();
  lines.marks.write();
  for (const { file } of [stdout, stderr, lines]) await file.close();
}

/**
 * Reads until `signal`. When all writers have closed the pipe, it waits for an agent: a new server may use the same
 * pipe.
 */
async function pump(
  pipe: string,
  stream: OutputStream,
  { ended, looks, growPipe }: { ended: Cell<number>; looks: Cell<number> } & Pick<RelayParts, 'growPipe'>,
  signal: AbortSignal,
): Promise<void> {
  const writer = openSync(pipe, 'r+'); // otherwise the next open would block until there is a writer
  const handle = await open(pipe, 'r');
  closeSync(writer);
  await growPipe(handle.fd, pipeBytes).catch(() => {}); // under another runtime it stays at 64 KiB
  const buffer = Buffer.allocUnsafe(chunkBytes);
  while (!signal.aborted) {
    const seen = looks.get();
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, null);
    if (bytesRead > 0) {
      stream.take(buffer.subarray(0, bytesRead));
      continue;
    }
    ended.update((n) => n + 1);
    if (looks.get() === seen) await looks.changed(signal);
    if (!signal.aborted) ended.update((n) => n - 1);
  }
  await handle.close();
}

/** The most recent output that a power cut may lose, at most. */
const flushMs = 1_000;

/**
 * Flushes a file soon after a write while no agent is connected: then the file is the only copy of these lines. An
 * agent puts them into its spool and flushes that; flushing both would wear the flash twice. Without writes there is no
 * timer.
 *
 * @returns the function to call after a write that is not flushed.
 */
function flushesWithoutAgent(of: {
  watchers: Cell<number>;
  flush: () => void;
  clock: Clock;
  /** Aborts when the relay ends. */
  signal: AbortSignal;
}): () => void {
  const { watchers, flush, clock, signal } = of;
  const soon = async (): Promise<void> => {
    await clock.sleep(flushMs, signal);
    while (watchers.get() > 0 && !signal.aborted) await watchers.changed(signal);
    if (!signal.aborted) flush();
  };
  return () => void soon();
}
