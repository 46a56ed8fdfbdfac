export { type Clock, within, TimeoutError } from './clock.ts';
export { Cell, changedOr } from './cell.ts';
export { Inbox } from './inbox.ts';
export { converge, type Reconciler } from './converge.ts';
export { run, type Machine } from './machine.ts';
export { retry, type RetryOptions } from './retry.ts';
export {
  isEarly,
  longestHoldMs,
  pauseAfterAnswer,
  pauseAfterFailure,
  retryAfterMs,
  type AnsweredCheck,
} from './held-check.ts';
export { assertNever, errorText, isAbort } from './errors.ts';
export { createLog, levels, masked, Secret, type Level, type Log, type LogLine, type Sink } from './log.ts';
export { estimateTime, withHeardTime, type TimeEvidence, type TrustedTime } from './trusted-time.ts';
export { longestLifeMs, sourceWall } from './source-time.ts';
export { firstWall, WallHistory } from './wall-history.ts';
