import type { JsonObject } from '@bufbuild/protobuf';
import { allKnown, type Known, type Subject } from './callers.ts';
import type { World } from './world.ts';

/** How the server may answer. `shows`: the answer contains data marked as the organization's own; `ok`: it does not. */
export type Answer =
  | 'shows'
  | 'ok'
  | 'denied'
  | 'not found'
  | 'not authenticated'
  | 'unsupported'
  | 'lease lost'
  | 'sign in'
  /** Shows the secrets of the configuration. */
  | 'reveals'
  | 'invalid'
  | 'method not allowed';

export type Request = Partial<Subject> & { messages: readonly JsonObject[] };

/** One call, its request, and the answer for each caller. */
export type Right = {
  call: string;
  /** Builds a fresh request, with objects that the call may delete. */
  ask(world: World): Request | Promise<Request>;
  /** Runs after every caller has called. */
  after?(world: World): Promise<void>;
  answers: Readonly<Record<Known, Answer>>;
};

export const installers: readonly Known[] = [
  'installation owner',
  'first key',
  'browser',
  'browser from its own origin',
];
/** Roles on the organization as a whole. */
export const owners: readonly Known[] = ['owner', 'first key', 'browser', 'browser from its own origin'];
export const members: readonly Known[] = [...owners, 'operator'];
export const machineOwners: readonly Known[] = [...owners, 'owner of the machine', 'owner of its place'];
export const machineOperators: readonly Known[] = [
  ...machineOwners,
  'operator',
  'operator of the machine',
  'operator of its place',
];
/** Callers with a right on single machines of the organization only. */
export const narrow: readonly Known[] = [
  'operator of the machine',
  'owner of the machine',
  'operator of the machine beside',
  'owner of the machine beside',
  'operator of its place',
  'owner of its place',
  'operator of another place',
  'owner of another place',
];
/** Roles on the location of the machine. */
export const placed: readonly Known[] = ['operator of its place', 'owner of its place'];
/** Narrow callers without any right on the machine. */
export const others: readonly Known[] = [
  'operator of the machine beside',
  'owner of the machine beside',
  'operator of another place',
  'owner of another place',
];
export const machines: readonly Known[] = ['own machine', 'machine beside'];
export const foreigners: readonly Known[] = ['foreign owner', 'foreign machine'];
const attempts: readonly Known[] = ['attempt', 'attempt of another job', 'ended attempt'];
/** All callers of the organization, except attempts. */
export const insiders: readonly Known[] = [...members, ...narrow, ...machines, 'runner'];
/** These may make only the calls that they need; a reader of metrics none. */
const limited: readonly Known[] = [...attempts, 'script', 'metrics reader'];
/** All other callers. */
export const users: readonly Known[] = allKnown.filter((one) => !limited.includes(one));

const absent: ReadonlySet<Known> = new Set<Known>([...foreigners, 'installation owner']);

/** The default answer: outsiders get `not found`, insiders get `denied`. */
const refusal = (who: Known): Answer => (absent.has(who) ? 'not found' : 'denied');

export type Named = Partial<Record<Answer, readonly Known[]>>;

/** Later keys override earlier ones: name the exceptions last. */
export function answersOf(named: Named): Right['answers'] {
  const answers = Object.fromEntries(allKnown.map((who) => [who, refusal(who)])) as Record<Known, Answer>;
  for (const [answer, callers] of Object.entries(named) as [Answer, readonly Known[]][])
    for (const who of callers) answers[who] = answer;
  return answers;
}

type Asks = (world: World) => JsonObject | Request | Promise<JsonObject | Request>;

const isRequest = (asked: JsonObject | Request): asked is Request => 'messages' in asked;

/** @param named - callers with an answer other than the default refusal. */
export const right = (call: string, named: Named, ask: Asks, after?: Right['after']): Right => ({
  call,
  ...(after && { after }),
  answers: answersOf(named),
  async ask(world) {
    const asked = await ask(world);
    return isRequest(asked) ? asked : { messages: [asked] };
  },
});

/** Calls that this server does not implement: all `users` get this answer. */
export const unsupported = (...calls: string[]): Right[] =>
  calls.map((call) => right(call, { unsupported: users }, () => ({})));
