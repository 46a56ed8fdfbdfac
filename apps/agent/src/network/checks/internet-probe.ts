import { randomBytes, randomInt } from 'node:crypto';
import { isIP } from 'node:net';
import type { Connectivity } from '../../os/network-port.ts';

// Questions to name servers as bytes (RFC 1035), and what an answer proves. Pure.

const txt = 16;
const soa = 6;
const headerBytes = 12;
const nonexistent = 3;
/** Flags: recursion is desired. */
const recursion = 0x0100;

/** A question for the TXT records of a name. */
export function nameQuestion(id: number, name: string): Buffer {
  const header = Buffer.alloc(headerBytes);
  header.writeUInt16BE(id, 0);
  header.writeUInt16BE(recursion, 2);
  header.writeUInt16BE(1, 4);
  const labels = name.split('.').filter((label) => label !== '');
  const parts = labels.map((label) => Buffer.concat([Buffer.from([Buffer.byteLength(label)]), Buffer.from(label)]));
  return Buffer.concat([header, ...parts, Buffer.from([0, 0, txt, 0, 1])]);
}

/**
 * What an answer says. `authority`: the name server has asked the authority of the name, because it gives that authority's
 * record for names that do not exist. `something`: it answers, but may have made it up, as routers without internet and
 * captive portals do.
 */
type NameAnswer = 'authority' | 'something' | 'failure';

/** Undefined: this does not answer that question. */
export function nameAnswer(question: Buffer, answer: Buffer): NameAnswer | undefined {
  if (answer.length < question.length || answer.readUInt16BE(0) !== question.readUInt16BE(0)) return undefined;
  const flags = answer.readUInt16BE(2);
  const [code, answers, authorities] = [flags & 0xf, answer.readUInt16BE(6), answer.readUInt16BE(8)];
  if ((flags & 0x8000) === 0) return undefined;
  if (code !== 0 && code !== nonexistent) return 'failure';
  const isNegative = answers === 0 && authorities > 0;
  return isNegative && hasAuthority(answer, question.length, authorities) ? 'authority' : 'something';
}

function hasAuthority(answer: Buffer, start: number, count: number): boolean {
  let at = start;
  for (let n = 0; n < count; n++) {
    at = afterName(answer, at);
    if (at + 10 > answer.length) return false;
    if (answer.readUInt16BE(at) === soa) return true;
    at += 10 + answer.readUInt16BE(at + 8);
  }
  return false;
}

function afterName(bytes: Buffer, start: number): number {
  let at = start;
  for (;;) {
    const length = bytes[at];
    if (length === undefined) return bytes.length;
    if (length >= 0xc0) return at + 2;
    if (length === 0) return at + 1;
    at += 1 + length;
  }
}

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
