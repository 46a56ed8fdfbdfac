import { attackRounds } from '../../../../e2e/src/attack-rounds.ts';
import type { Headers, Outcome } from './ask.ts';
import { allKnown, type Known, known, type Subject } from './callers.ts';
import { changes, type Contents } from './contents.ts';
import type { Answer } from './rights.ts';
import { mark, secretMark, type World } from './world.ts';

/** One request to try as every caller. */
export type Trial = {
  what: string;
  answers: Readonly<Record<Known, Answer>>;
  /** Outcome for a caller without valid credentials. */
  ofUnauthenticated(who: string): Answer;
  after?: ((world: World) => Promise<void>) | undefined;
  /** Builds a fresh request and the function that sends it. */
  prepare(): Promise<{ text: string; subject: Partial<Subject>; send(headers: Headers): Promise<Outcome> }>;
};

export type Counts = { requests: number; refused: number; allowed: number; trials: number };

const words: Readonly<Record<string, Answer>> = {
  unauthenticated: 'not authenticated',
  permission_denied: 'denied',
  not_found: 'not found',
  unimplemented: 'unsupported',
  invalid_argument: 'invalid',
};

/** Maps an outcome to the values of the tables; unexpected outcomes are returned in full. */
function answerOf({ code, row, bytes }: Outcome): string {
  if (bytes.includes(secretMark)) return code === 'ok' ? 'reveals' : `${code} ${row} reveals ${bytes.toString()}`;
  const isMarked = bytes.includes(mark);
  if (code === 'ok') return isMarked ? 'shows' : 'ok';
  if (isMarked) return `${code} ${row} shows ${bytes.toString()}`;
  if (row === 'LEASE_LOST') return 'lease lost';
  if (row === 'SIGN_IN_NOT_RECENT') return 'sign in';
  return words[code] ?? `${code} ${row} ${bytes.toString('utf8').slice(0, 300)}`;
}

const isAllowed = (answer: Answer): boolean => answer === 'ok' || answer === 'shows' || answer === 'reveals';

/** Tries each request as every caller. Callers without the right go first, with the request that later succeeds. */
export async function tryAll(
  of: { world: World; contents: Contents; unauthenticated: Readonly<Record<string, Headers>> },
  trials: readonly Trial[],
): Promise<{ counts: Counts; wrong: string[] }> {
  const { world, contents } = of;
  // The short form spreads the callers without credentials over the requests: each caller tries a part of them.
  const every = attackRounds(1, 8);
  const counts: Counts = { requests: 0, refused: 0, allowed: 0, trials: trials.length };
  const wrong: string[] = [];
  const cookie = await world.freshCookie();
  const usual: Subject = { machine: world.machine, job: world.job, endedJob: world.endedJob, cookie };

  for (const [index, { what, answers, ofUnauthenticated, prepare, after }] of trials.entries()) {
    const tell = async (who: string, expected: Answer, headers: Headers, request: Prepared): Promise<void> => {
      counts.requests++;
      counts[isAllowed(expected) ? 'allowed' : 'refused']++;
      const answer = answerOf(await request.send(headers));
      if (answer !== expected) wrong.push(`${what} by ${who}: ${answer}, not ${expected}; ${request.text}`);
    };
    const first = await prepare();
    const headersOf = (who: Known, { subject }: Prepared) => known[who](world, { ...usual, ...subject });
    // Sign in before the comparison begins.
    for (const who of allKnown) await headersOf(who, first);
    const before = await contents(world.foreign.orgId);
    // A run that ended long ago has lost its lease; its existence is not secret.
    for (const [who, headers] of Object.entries(of.unauthenticated).filter((_, n) => n % every === index % every))
      await tell(who, ofUnauthenticated(who), headers, {
        ...first,
        send: async (sent) => {
          const outcome = await first.send(sent);
          return outcome.row === 'LEASE_LOST' ? { ...outcome, code: 'unauthenticated', row: '' } : outcome;
        },
      });
    for (const who of allKnown)
      if (!isAllowed(answers[who])) await tell(who, answers[who], await headersOf(who, first), first);
    for (const change of changes(before, await contents(world.foreign.orgId)))
      wrong.push(`${what} changed without a right: ${change}`);
    const allowed = allKnown.filter((who) => isAllowed(answers[who]));
    for (const [n, who] of allowed.entries()) {
      const request = n === 0 ? first : await prepare();
      await tell(who, answers[who], await headersOf(who, request), request);
    }
    await after?.(world);
  }
  return { counts, wrong };
}

type Prepared = Awaited<ReturnType<Trial['prepare']>>;
