/** What is known when the other agent's service starts this program. */
export interface StartFacts {
  hasSystemd: boolean;
  /** This program has replaced the other agent before, without systemd: it runs in its place since. */
  runsInPlace: boolean;
  /** A take-over was prepared by the update of the other agent, and has not ended. */
  isPrepared: boolean;
  /** Our own service is installed and enabled. */
  isOwnEnabled: boolean;
}

/** What the management server says of the request; `unknown`: it cannot be reached, or is older. */
export type MigrationRequest = 'open' | 'closed' | 'unknown';

/** Undefined: the server must say whether a migration is requested. */
export function decideAlone({ hasSystemd, runsInPlace, isPrepared, isOwnEnabled }: StartFacts): 'go' | undefined {
  if (!hasSystemd && runsInPlace) return 'go';
  // The first check of our agent ended the request, and then the machine lost its power.
  return hasSystemd && isPrepared && isOwnEnabled ? 'go' : undefined;
}

/** A start that no user requested gives the machine back. */
export function decide(facts: StartFacts, request: MigrationRequest): 'go' | 'refuse' {
  if (decideAlone(facts) === 'go' || request === 'open') return 'go';
  return request === 'unknown' && facts.isPrepared ? 'go' : 'refuse';
}
