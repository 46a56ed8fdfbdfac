import { randomBytes, randomInt } from 'node:crypto';
import { isIP } from 'node:net';
import type { Connectivity } from '../../os/network-port.ts';
import { type NameAnswer, nameAnswer, nameQuestion } from './name-question.ts';

/** Waits between the repetitions of a question; the last one ends it. */
export const questionTimesMs = [1_000, 1_500, 2_000];

export interface InternetProbe {
  /** Host of the management server; empty: this machine knows none. */
  host: string;
  /** Whether the management server answers; false if there is none. Never rejects. */
  isAnswering: (signal: AbortSignal) => Promise<boolean>;
  /** Whether something else than the management server answers in its place. Never rejects. */
  isIntercepted: (signal: AbortSignal) => Promise<boolean>;
  /** Sends a question to a name server until `isAnswer` takes an answer. @returns undefined: none came. Never rejects. */
  ask: <T>(
    server: string,
    question: Buffer,
    isAnswer: (answer: Buffer) => T | undefined,
    signal: AbortSignal,
  ) => Promise<T | undefined>;
}

/**
 * What the present links lead to, without a public host of anybody: the management server, or, when that one is away, the
 * authority of its name. `unknown`: nothing could be checked, or only the network itself has answered.
 */
export async function probeInternet(
  probe: InternetProbe,
  nameServers: readonly string[],
  signal: AbortSignal,
): Promise<Connectivity> {
  const over = new AbortController();
  const until = AbortSignal.any([signal, over.signal]);
  const others = Promise.all([probe.isIntercepted(until), askAll(probe, nameServers, until)]);
  try {
    if (await probe.isAnswering(until)) return 'full';
    const [isIntercepted, names] = await others;
    if (isIntercepted) return 'portal';
    if (names === 'authority') return 'full';
    if (probe.host !== '') return 'limited';
    return nameServers.length === 0 || names === 'something' ? 'unknown' : 'limited';
  } finally {
    over.abort();
  }
}

/** The best answer of up to two name servers to a question that no name server has an answer to yet. */
async function askAll(
  { host, ask }: InternetProbe,
  servers: readonly string[],
  signal: AbortSignal,
): Promise<NameAnswer> {
  const label = randomBytes(8).toString('hex');
  const name = host === '' || isIP(host) !== 0 ? label : `${label}.${host}`;
  const answers = servers.slice(0, 2).map((server) => {
    const question = nameQuestion(randomInt(0x10000), name);
    return ask(server, question, (answer) => nameAnswer(question, answer), signal);
  });
  const found = await Promise.all(answers);
  return found.find((one) => one === 'authority') ?? found.find((one) => one === 'something') ?? 'failure';
}
