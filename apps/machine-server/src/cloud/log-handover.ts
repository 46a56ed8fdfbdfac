import { logSocketVersion, parseLogAnswer, type SocketLine } from '@platform/contract/machine-server/log-socket';
import { boundedFields, cutText } from '@platform/contract/logs/limits';
import type { Clock } from '@platform/kit';
import { connect, type Socket } from 'node:net';
import { logDropped, type LogQueue, type NumberedLine } from './log-upload.ts';

/** An agent listens on the socket that it names. Without an answer in this time, lines go to the management server. */
const firstAnswerMs = 10_000;
const firstPauseMs = 200;
const longestPauseMs = 5_000;
const linesAtOnce = 500;
/** Limit of lines that the agent has not confirmed. */
const mostUnderWay = 2_000;
/** An open connection wakes both processes every second; see docs/decisions/0044-presence-pipes.md. */
const idleMs = 5_000;

export interface LogHandover {
  socketFile: string;
  /** Identifies this run of the program; with it and the line number the agent recognizes a repeated line. */
  bootId: string;
  queue: LogQueue;
  /** Number of lost lines already reported. */
  logged: { dropped: number };
  clock: Clock;
}

/**
 * Sends lines to the agent, in order and exactly once: the next connection repeats unconfirmed lines.
 *
 * @returns false when no agent ever answered.
 */
export async function handOverLogs(handover: LogHandover, signal: AbortSignal): Promise<boolean> {
  const { queue, clock } = handover;
  const begin = clock.now();
  for (let failures = 0, isKnown = false; !signal.aborted;) {
    const wasAnswered = await converse(handover, signal);
    isKnown ||= wasAnswered;
    if (signal.aborted) break;
    if (!isKnown && clock.now() - begin >= firstAnswerMs) return false;
    failures = wasAnswered ? 0 : failures + 1;
    if (wasAnswered && queue.size === 0) {
      await queue.filled.changed(signal);
      continue;
    }
    await clock.sleep(Math.min(firstPauseMs * 2 ** failures, longestPauseMs), signal);
  }
  return true;
}

/** Sends all waiting lines before the program exits. */
export async function flushToAgent(handover: LogHandover, signal: AbortSignal): Promise<void> {
  const done = new AbortController();
  const ended = converse(handover, AbortSignal.any([signal, done.signal]));
  while (handover.queue.size > 0 && !signal.aborted) {
    const turn = new AbortController();
    await Promise.race([handover.queue.emptied.changed(AbortSignal.any([turn.signal, signal])), ended]);
    turn.abort();
    if (await isOver(ended)) break;
  }
  done.abort();
  await ended;
}

const isOver = (work: Promise<unknown>): Promise<boolean> =>
  Promise.race([work.then(() => true), Promise.resolve(false)]);

/** Uses one connection until it breaks or there is nothing to send. @returns whether the agent answered. */
async function converse(
  { socketFile, bootId, queue, logged, clock }: LogHandover,
  signal: AbortSignal,
): Promise<boolean> {
  const over = new AbortController();
  const socket = connect(socketFile);
  const end = (): void => {
    socket.destroy();
    over.abort();
  };
  const state = { isAnswered: false, sent: 0, taken: 0 };
  socket.setEncoding('utf8');
  socket.on('error', end).once('close', end);
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  let rest = '';
  socket.on('data', (text: string) => {
    const answers = (rest + text).split('\n');
    rest = answers.pop() ?? '';
    for (const one of answers) {
      const answer = parseLogAnswer(one);
      if (!answer || answer.error !== undefined) return end();
      state.isAnswered = true;
      state.taken = Math.max(state.taken, answer.taken);
      queue.done(answer.taken);
    }
  });
  socket.write(`${JSON.stringify({ log_socket: logSocketVersion, boot_id: bootId })}\n`);
  while (!over.signal.aborted) {
    const seen = [queue.filled.get(), queue.emptied.get()] as const;
    const lines = state.isAnswered ? unsent(queue, state) : [];
    if (lines.length > 0) {
      state.sent = lines.at(-1)?.sequence ?? state.sent;
      socket.write(lines.map((line) => `${JSON.stringify(socketLine(line))}\n`).join(''));
      continue;
    }
    if (queue.filled.get() !== seen[0] || queue.emptied.get() !== seen[1]) continue;
    logDropped(queue, logged, clock);
    if (queue.filled.get() !== seen[0]) continue;
    const waitMs = state.isAnswered && queue.size === 0 ? idleMs : Infinity;
    if (await isQuiet(queue, socket, { waitMs, clock }, over.signal)) end();
  }
  signal.removeEventListener('abort', end);
  return state.isAnswered;
}

/** The next lines, up to the limit of unconfirmed ones. */
function unsent(queue: LogQueue, { sent, taken }: { sent: number; taken: number }): readonly NumberedLine[] {
  const underWay = Math.max(0, sent - taken);
  if (underWay >= mostUnderWay) return [];
  return queue.after(sent, linesAtOnce);
}

/** Waits for lines or an answer, at most `waitMs`. @returns whether there was none in this time. */
async function isQuiet(
  queue: LogQueue,
  socket: Socket,
  { waitMs, clock }: { waitMs: number; clock: Clock },
  signal: AbortSignal,
): Promise<boolean> {
  const turn = new AbortController();
  const over = AbortSignal.any([turn.signal, signal]);
  const wake = (): void => turn.abort();
  socket.once('data', wake);
  const changes = [queue.filled.changed(over), queue.emptied.changed(over)].map((change) => change.then(() => false));
  const end = waitMs < Infinity ? [clock.sleep(waitMs, over).then(() => !over.aborted)] : [];
  const outcome = await Promise.race([...changes, ...end]);
  socket.off('data', wake);
  turn.abort();
  return outcome;
}

const socketLine = ({ sequence, time, level, logger, message, fields }: NumberedLine): SocketLine => {
  const [bounded] = boundedFields([fields]);
  return {
    sequence,
    time,
    level,
    logger,
    message: cutText(message),
    ...(Object.keys(fields).length > 0 && { fields: bounded ?? {} }),
  };
};
