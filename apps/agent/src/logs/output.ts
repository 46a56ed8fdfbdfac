import { logLimits } from '@platform/contract/logs/limits';
import { changedOr, errorText, type Cell, type Clock, type Level, type Log, type LogLine } from '@platform/kit';
import { isRelayed } from '../os/output-marks.ts';
import type { Device, FileWatch, OutputRead, Position } from '../os/ports.ts';
import { Budget } from './relay/budget.ts';
import type { Floods } from './floods.ts';
import { droppedLine } from './losses.ts';
import type { SpoolWriter } from './spool-writer.ts';
import type { Spool } from './spool.ts';
import { parseSocketLine } from '@platform/contract/machine-server/log-socket';

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
  writer: SpoolWriter;
  /** Receives a notice of rate-limited lines. */
  floods: Floods;
  wall: () => number;
  clock: Clock;
  local: Log;
}

/** What the reader of one file keeps between its reads. */
interface ReadState {
  readonly budget: Budget;
  position: Position | undefined;
  /** Reads whose lines are not on disk yet. */
  readonly unstored: Promise<unknown>[];
}

/**
 * Puts each line of a file into the spool, until `signal`. The read position is stored with the lines, so a crash of
 * this agent neither loses nor repeats one. A program that floods fills neither the disk nor the upload. Lines beyond
 * the budget are dropped and counted, and a file that outgrows its reader is emptied.
 */
export async function followOutput(output: Output, parts: FollowParts, signal: AbortSignal): Promise<void> {
  const { device, spool, clock, local } = parts;
  const { source, file, isSent } = output;
  const budget = new Budget(clock.now());
  const position = isSent?.get() === true ? await firstUnsent(output, spool) : spool.cursor(source);
  const state: ReadState = { budget, position, unstored: [] };
  const watch = device.lines.follow(file, clock);
  let loggedError = '';
  while (!signal.aborted) {
    try {
      if (isSent?.get() === false) {
        await device.lines.empty(file, undefined, outputLimitBytes);
        await isSentOrGrows(isSent, watch, signal);
        if (!isSent.get()) await changedOr(isSent, unsentLookMs, clock, signal); // polling is enough
        if (isSent.get()) state.position = await firstUnsent(output, spool);
        continue;
      }
      const isAtEnd = await readOnce(output, parts, state, signal);
      if (isAtEnd) await watch.changed(signal);
      loggedError = '';
    } catch (error) {
      const text = errorText(error);
      if (text !== loggedError) local.warn('the output of the machine server cannot be read', { file, error: text });
      loggedError = text;
      await clock.sleep(errorPauseMs, signal);
    }
  }
  watch.close();
}

/** Reads once and puts the lines into the spool. Returns whether the end of the file is reached. */
async function readOnce(output: Output, parts: FollowParts, state: ReadState, signal: AbortSignal): Promise<boolean> {
  const { device, spool, wall, clock } = parts;
  const { source, file } = output;
  const { unstored } = state;
  const began = wall();
  const excess = await device.lines.empty(file, state.position, outputLimitBytes);
  if (excess) {
    state.position = excess.position;
    dropExcess(excess.lines, began, parts);
    await soon(spool.move({ source, ...state.position }), storedWithinMs, clock);
  }
  const more = await device.lines.read(file, state.position);
  unstored.push(enterRead(output, parts, more, state.budget, began));
  // While the disk rejects writes, lines wait in memory and reading continues.
  while (unstored.length > mostUnstored) await soon(unstored.shift(), storedWithinMs, clock);
  const { position } = state;
  if (more.lines.length > 0 || (more.dropped ?? []).length > 0) {
    const readBytes = more.position.offset - (position?.file === more.position.file ? position.offset : 0);
    state.position = more.position;
    if (readBytes >= fullReadBytes) await clock.sleep(spacingMs, signal);
    return false;
  }
  const isStored = await soon(Promise.all(unstored.splice(0)), storedWithinMs, clock);
  const trimmed = isStored ? await device.lines.trim(file, more.position, outputLimitBytes) : more.position;
  state.position = trimmed;
  // Otherwise the next start would skip what is written from now on.
  if (trimmed.offset < more.position.offset) await soon(spool.move({ source, ...trimmed }), storedWithinMs, clock);
  return true;
}

/** Puts the lines of one read into the spool, within the budget. Resolves when they are stored. */
function enterRead(
  { source, level, logger, parse }: Output,
  parts: FollowParts,
  more: OutputRead,
  budget: Budget,
  began: number,
): Promise<unknown> {
  const { spool, writer, floods, wall, clock } = parts;
  const lineOf = (message: string): LogLine => ({ time: wall(), level, logger, message, fields: {} });
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
  const stored = entries.map((line, i) => writer.enter(line, i === entries.length - 1 ? cursor : undefined));
  if (kept.length < lines.length) dropExcess(lines.length - kept.length, began, parts);
  if (entries.length === 0 && lines.length > 0) stored.push(spool.move(cursor));
  return Promise.all(stored);
}

/** Counts lines beyond the budget, which are dropped. */
function dropExcess(lines: number, began: number, { spool, floods, wall }: FollowParts): void {
  spool.lose('too many at once', lines, began, wall());
  floods.seen();
}

/** Where to read on when the lines are sent from now on. */
const firstUnsent = async (output: Output, spool: Spool): Promise<Position | undefined> =>
  later(await output.begin?.(), spool.cursor(output.source));

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

/** Parses a line that the machine server sent to the socket, as the relay stored it. */
export function parseHandedOver(text: string): LogLine | undefined {
  const line = parseSocketLine(text);
  if (!line) return undefined;
  const { time, level, logger, message, fields, caller, stack } = line;
  return {
    time,
    level,
    logger,
    message,
    fields: { ...fields },
    ...(caller && { caller: { ...caller } }),
    ...(stack !== undefined && { stack }),
  };
}
