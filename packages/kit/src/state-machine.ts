import type { Clock } from './clock.ts';
import type { Inbox } from './inbox.ts';
import type { Log } from './log.ts';

/** S: a union by `at`; E: a union by `is`; F: a union by `do`. */
export interface StateMachine<S, E, F> {
  readonly initial: S;
  /** When this state expects the event `due`, as an instant of `clock.now()`; Infinity: never. */
  deadline(state: S): number;
  /** Pure. */
  step(state: S, event: E | { is: 'due' }, now: number): { state: S; effects: readonly F[] };
  /** Return a failure as an event. An exception is a defect and ends the machine. */
  perform(effect: F, signal: AbortSignal): Promise<E | void>;
}

/**
 * The only place that holds the state. It takes one event at a time, steps, publishes the new state, then performs the
 * effects. Effects run strictly in order, across steps too: each one starts after the previous one has answered. Events
 * are taken meanwhile.
 *
 * Returns after `signal` aborted and the running effects have ended.
 */
export async function run<S extends { at: string }, E extends object, F extends { do: string }>(
  machine: StateMachine<S, E, F>,
  inbox: Inbox<E>,
  publish: (state: S) => void,
  { clock, log }: { clock: Clock; log: Log },
  signal: AbortSignal,
): Promise<void> {
  const stop = new AbortController();
  const end = () => stop.abort(signal.reason);
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();

  let bug: { error: unknown } | undefined;
  let state = machine.initial;
  let chain = Promise.resolve();
  const perform = async (effect: F): Promise<void> => {
    if (stop.signal.aborted) return;
    try {
      const answer = await machine.perform(effect, stop.signal);
      if (answer) inbox.push(answer);
    } catch (error) {
      if (!stop.signal.aborted) bug = { error };
      stop.abort();
    }
  };

  while (!stop.signal.aborted) {
    const event = (await inbox.take(machine.deadline(state), clock, stop.signal)) ?? { is: 'due' as const };
    if (stop.signal.aborted) break;
    const next = machine.step(state, event, clock.now());
    if (next.state.at !== state.at) {
      log.info('state', { from: state.at, to: next.state.at, because: event, effects: next.effects });
    } else {
      log.debug('pass', { observed: event, at: state.at, did: next.effects.map((effect) => effect.do) });
    }
    state = next.state;
    publish(state);
    for (const effect of next.effects) chain = chain.then(() => perform(effect));
  }
  await chain;
  signal.removeEventListener('abort', end);
  if (bug) throw bug.error;
}
