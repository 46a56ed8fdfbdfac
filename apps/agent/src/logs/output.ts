import { logLimits } from '@platform/contract/log-limits';
import { changedOr, errorText, type Cell, type Clock, type Level, type Log, type LogLine } from '@platform/kit';
import { isRelayed } from '../os/output-marks.ts';
import type { Device, FileWatch, Position } from '../os/ports.ts';
import { Budget } from './relay/budget.ts';
import type { Floods } from './floods.ts';
import type { Inlet } from './inlet.ts';
import { droppedLine } from './losses.ts';
import type { Spool } from './spool.ts';

/** A log file that another program writes line by line. */
export interface Output {
  /** Name of its cursor in the spool. */
  source: string;
  file: string;
  logger: string;
  level: Level;
  /** Undefined: the line is the message. If it returns undefined, the line is skipped. */
  parse?: (text: string) => LogLine | undefined;
  /** Undefined: always. False: its lines stay on this machine. */
  isSent?: Cell<boolean>;
  /**
   * Returns the position of the first line to send when `isSent` becomes true; undefined: the beginning of the file.
   */
  begin?: () => Promise<Position | undefined>;
}

const unsentLookMs = 2_000;
const errorPauseMs = 30_000;
const storedWithinMs = 1_000;
/** Limit for reads whose lines are not on disk yet. */
const mostUnstored = 8;
/** Pause after a full read: limits reading to about a megabyte a second. */
const spacingMs = 50;
const fullReadBytes = 32 * 2 ** 10;
export const outputLimitBytes = logLimits.outputBytes;

export interface FollowParts {
  device: Device;
  spool: Spool;
  inlet: Inlet;
  /** Receives a notice of rate-limited lines. */
  floods: Floods;
  wall: () => number;
  clock: Clock;
  local: Log;
}

/**
 * Puts each line of a file into the spool, until `signal`. The read position is stored with the lines, so a crash of
 * this agent neither loses nor repeats one. A program that floods fills neither the disk nor the upload. Lines beyond
 * the budget are dropped and counted, and a file that outgrows its reader is emptied.
 */
export async function followOutput(output: Output, parts: FollowParts, signal: AbortSignal): Promise<void> {
  const { device, spool, inlet, floods, wall, clock, local } = parts;
  const { source, file, logger, level, isSent, parse } = output;
  const lineOf = (message: string): LogLine => ({ time: wall(), level, logger, message, fields: {} });
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
        if (!isSent.get()) await changedOr(isSent, unsentLookMs, clock, signal); // polling is enough
        if (isSent.get()) position = later(await output.begin?.(), spool.cursor(source));
        continue;
      }
      const excess = await device.lines.empty(file, position, outputLimitBytes);
      if (excess) {
        position = excess.position;
        spool.lose('too many at once', excess.lines, began, wall());
        floods.seen();
        await soon(spool.move({ source, ...position }), storedWithinMs, clock);
      }
      const more = await device.lines.read(file, position);
      const lines = more.lines.filter((line) => line !== '');
      // The relay has already applied the budget to its lines, however long they waited for an agent.
      const kept = isRelayed(more.position) ? lines : lines.slice(0, budget.take(lines, clock.now()));
      const cursor = { source, ...more.position };
      const marks = more.dropped ?? [];
      if (marks.some(({ because }) => because === 'too many at once')) floods.seen();
      const entries = [
        ...marks.map(({ because, ...loss }) => droppedLine(because, loss)),
        ...kept.flatMap((text) => (parse ? (parse(text) ?? []) : lineOf(text))),
      ];
      const stored = entries.map((line, i) => inlet.enter(line, i === entries.length - 1 ? cursor : undefined));
      if (kept.length < lines.length) {
        spool.lose('too many at once', lines.length - kept.length, began, wall());
        floods.seen();
      }
      if (entries.length === 0 && lines.length > 0) stored.push(spool.move(cursor));
      unstored.push(Promise.all(stored));
      // While the disk rejects writes, lines wait in memory and reading continues.
      while (unstored.length > mostUnstored) await soon(unstored.shift(), storedWithinMs, clock);
      if (more.lines.length > 0 || marks.length > 0) {
        const read = more.position.offset - (position?.file === more.position.file ? position.offset : 0);
        position = more.position;
        if (read >= fullReadBytes) await clock.sleep(spacingMs, signal);
      } else {
        const isStored = await soon(Promise.all(unstored.splice(0)), storedWithinMs, clock);
        position = isStored ? await device.lines.trim(file, more.position, outputLimitBytes) : more.position;
        // Otherwise the next start would skip what is written from now on.
        if (position.offset < more.position.offset)
          await soon(spool.move({ source, ...position }), storedWithinMs, clock);
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

/** Where to continue: read lines are not read again, and lines before the beginning are not sent. */
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

/** Returns whether the work finished in time; it continues in any case. */
async function soon(work: Promise<unknown> | undefined, ms: number, clock: Clock): Promise<boolean> {
  const timer = new AbortController();
  const isDone = await Promise.race([
    Promise.resolve(work).then(() => true),
    clock.sleep(ms, timer.signal).then(() => false),
  ]);
  timer.abort();
  return isDone;
}
