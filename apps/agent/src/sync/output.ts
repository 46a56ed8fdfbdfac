import { logLimits } from '@platform/contract/log-limits';
import { changedOr, errorText, type Cell, type Clock, type Level, type Log } from '@platform/kit';
import type { Device, FileWatch, Position } from '../os/ports.ts';
import type { Inlet } from './inlet.ts';
import type { Spool } from './spool.ts';

/** A file that a program of others writes line by line. */
export interface Output {
  /** Name of its cursor in the spool. */
  source: string;
  file: string;
  logger: string;
  level: Level;
  /** Absent: always. False: its lines stay on this machine. */
  isSent?: Cell<boolean>;
  /** Where the lines begin that are to be sent, when `isSent` becomes true; undefined: at the beginning of the file. */
  begin?: () => Promise<Position | undefined>;
}

const unsentLookMs = 2_000;
const errorPauseMs = 30_000;
const storedWithinMs = 1_000;
/** Reads of which the lines are on their way to the disk. */
const mostUnstored = 8;
/** Between two full reads: about a megabyte a second. */
const spacingMs = 50;
const fullReadBytes = 32 * 2 ** 10;
export const outputLimitBytes = logLimits.outputBytes;

export interface FollowParts {
  device: Device;
  spool: Spool;
  inlet: Inlet;
  wall: () => number;
  clock: Clock;
  local: Log;
}

/**
 * Puts each line of a file into the spool, until `signal`. How far it came is stored with the lines themselves, so that no
 * end of this agent loses or repeats one. A program that writes without measure fills neither the disk nor the day: of
 * more than the budget lines are dropped and counted, and a file that outgrows its reader is emptied.
 */
export async function followOutput(output: Output, parts: FollowParts, signal: AbortSignal): Promise<void> {
  const { device, spool, inlet, wall, clock, local } = parts;
  const { source, file, logger, level, isSent } = output;
  const budget = new Budget(clock.now());
  let position = isSent?.get() === true ? later(await output.begin?.(), spool.cursor(source)) : spool.cursor(source);
  let toldError = '';
  const unstored: Promise<unknown>[] = [];
  const watch = device.lines.follow(file, clock);
  while (!signal.aborted) {
    try {
      const began = wall();
      if (isSent?.get() === false) {
        await device.lines.empty(file, undefined, outputLimitBytes);
        await isSentOrGrows(isSent, watch, signal);
        if (!isSent.get()) await changedOr(isSent, unsentLookMs, clock, signal); // looked at now and then is enough
        if (isSent.get()) position = later(await output.begin?.(), spool.cursor(source));
        continue;
      }
      const excess = await device.lines.empty(file, position, outputLimitBytes);
      if (excess) {
        position = excess.position;
        spool.lose('too many at once', excess.lines, began, wall());
        await soon(spool.move({ source, ...position }), storedWithinMs, clock);
      }
      const more = await device.lines.read(file, position);
      const lines = more.lines.filter((line) => line !== '');
      const kept = lines.slice(0, budget.take(lines, clock.now()));
      const cursor = { source, ...more.position };
      const stored = kept.map((message, i) =>
        inlet.enter({ time: wall(), level, logger, message, fields: {} }, i === kept.length - 1 ? cursor : undefined),
      );
      if (kept.length < lines.length) {
        spool.lose('too many at once', lines.length - kept.length, began, wall());
        if (kept.length === 0) stored.push(spool.move(cursor));
      }
      unstored.push(Promise.all(stored));
      // While the disk takes nothing, the lines wait in memory and the file is watched on.
      while (unstored.length > mostUnstored) await soon(unstored.shift(), storedWithinMs, clock);
      if (more.lines.length > 0) {
        const read = more.position.offset - (position?.file === more.position.file ? position.offset : 0);
        position = more.position;
        if (read >= fullReadBytes) await clock.sleep(spacingMs, signal);
      } else {
        const isStored = await soon(Promise.all(unstored.splice(0)), storedWithinMs, clock);
        position = isStored ? await device.lines.trim(file, more.position, outputLimitBytes) : more.position;
        await watch.changed(signal);
      }
      toldError = '';
    } catch (error) {
      const text = errorText(error);
      if (text !== toldError) local.warn('the output of the machine server cannot be read', { file, error: text });
      toldError = text;
      await clock.sleep(errorPauseMs, signal);
    }
  }
  watch.close();
}

/** Where to go on: what was read is not read again, what lies before the beginning is not sent. */
function later(begin: Position | undefined, read: Position | undefined): Position | undefined {
  if (!begin || !read) return begin ?? read;
  return read.file === begin.file && read.offset > begin.offset ? read : begin;
}

async function isSentOrGrows(isSent: Cell<boolean>, watch: FileWatch, signal: AbortSignal): Promise<void> {
  const turn = new AbortController();
  const over = AbortSignal.any([turn.signal, signal]);
  await Promise.race([isSent.changed(over), watch.changed(over)]);
  turn.abort();
}

/** True when the work was done within the time; it goes on in any case. */
async function soon(work: Promise<unknown> | undefined, ms: number, clock: Clock): Promise<boolean> {
  const timer = new AbortController();
  const isDone = await Promise.race([
    Promise.resolve(work).then(() => true),
    clock.sleep(ms, timer.signal).then(() => false),
  ]);
  timer.abort();
  return isDone;
}

const { burstLines: linesAtOnce, burstBytes: bytesAtOnce } = logLimits;
const linesPerMs = logLimits.linesPerSecond / 1000;
const bytesPerMs = logLimits.bytesPerSecond / 1000;

/** How much one program may say: 500 lines or 128 kB a second on the long run, more for a moment. */
export class Budget {
  #lines: number = linesAtOnce;
  #bytes: number = bytesAtOnce;
  #at: number;

  constructor(now: number) {
    this.#at = now;
  }

  /** How many of these lines, from the first, are within the budget. */
  take(lines: readonly string[], now: number): number {
    const ms = now - this.#at;
    this.#at = now;
    this.#lines = Math.min(linesAtOnce, this.#lines + ms * linesPerMs);
    this.#bytes = Math.min(bytesAtOnce, this.#bytes + ms * bytesPerMs);
    let count = 0;
    for (const line of lines) {
      if (this.#lines < 1 || this.#bytes < line.length) break;
      this.#lines--;
      this.#bytes -= line.length;
      count++;
    }
    return count;
  }
}
