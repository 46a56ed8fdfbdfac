import { closeSync, openSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import path from 'node:path';
import { logLimits } from '@platform/contract/log-limits';
import { Cell, type Clock } from '@platform/kit';
import { parseHeader } from '../../os/output-marks.ts';
import { stderrFile, stdoutFile } from '../../server/watch.ts';
import { linesFile, relayPlaces } from '../../os/relay-places.ts';
import { flushesWithoutAgent } from './flushes.ts';
import { LineSocket, takenIn } from './line-socket.ts';
import { DropMarks, OutputStream } from './output-stream.ts';
import { RollingFile } from './rolling-file.ts';

export interface RelayParts {
  root: string;
  /** With the pipes and the socket. */
  folder: string;
  /** Where lines lie while the disk takes none. */
  spareFolder: string | undefined;
  newId: () => string;
  /** Gives a pipe room for that number of bytes. @throws Error where that cannot be done */
  growPipe: (file: number, bytes: number) => Promise<void>;
  clock: Clock;
}

const chunkBytes = 64 * 1024;
/** The most that a pipe may have by default. */
const pipeBytes = 2 ** 20;
const limits = { totalBytes: logLimits.outputBytes, segmentBytes: 2 ** 20, queueBytes: 2 * 2 ** 20 };

/**
 * Reads what a machine server writes, from its two pipes and its socket, into bounded files: so that it never waits for a disk or an
 * agent, and no more of it reaches the disk than the budget allows. It is a process of its own, because the machine server outlives
 * its agent. Resolves when the server has ended and everything is in the files; at once when another relay is there.
 */
export async function relayOutput({ root, folder, spareFolder, newId, growPipe, clock }: RelayParts): Promise<void> {
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
  if (!(await socket.listen())) return;
  const streams = [
    { pipe: places.stdout, stream: new OutputStream({ ...stdout, clock }) },
    { pipe: places.stderr, stream: new OutputStream({ ...stderr, clock }) },
  ];
  const ended = new Cell(0);
  for (const { pipe, stream } of streams) void pump(pipe, stream, { ended, looks, growPipe }, over.signal);
  while (ended.get() < streams.length || socket.senders.get() > 0) {
    const turn = new AbortController();
    await Promise.race([ended.changed(turn.signal), socket.senders.changed(turn.signal)]);
    turn.abort();
  }
  socket.close(); // from here on another relay may begin
  over.abort();
  for (const { stream } of streams) stream.end();
  lines.marks.write();
  for (const { file } of [stdout, stderr, lines]) await file.close();
}

/** Reads until `signal`. At the end of all writers it waits until somebody looks: a new server may write to the same pipe. */
async function pump(
  pipe: string,
  stream: OutputStream,
  { ended, looks, growPipe }: { ended: Cell<number>; looks: Cell<number> } & Pick<RelayParts, 'growPipe'>,
  signal: AbortSignal,
): Promise<void> {
  const writer = openSync(pipe, 'r+'); // or the next would wait for one
  const handle = await open(pipe, 'r');
  closeSync(writer);
  await growPipe(handle.fd, pipeBytes).catch(() => {}); // it has 64 KiB under another runtime
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
