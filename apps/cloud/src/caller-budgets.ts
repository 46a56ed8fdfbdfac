import { PlatformError } from '@platform/contract/errors';
import { RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import type { Clock } from '@platform/kit';
import type { CloudOptions } from './options.ts';
import type { Caller } from './rules/permissions.ts';
import { type Rate, TokenBuckets } from './rules/token-buckets.ts';

/** What one machine, key, user or training attempt may use of the server. Checked before anything of a message is read. */
export type CallerBudgets = {
  /** @param bytes - of the message, as announced. @throws PlatformError BUDGET_EXCEEDED */
  admit(caller: Caller, call: string, bytes: number): void;
  /** Log lines that were taken. */
  chargeLines(caller: Caller, lines: number, bytes: number): void;
};

const logCall = `${RobotService.typeName}/${RobotService.method.log.name}`;
/** An agent's spool holds 16 MiB of lines; it may send all of it at once after a time offline. */
const logBytes: Rate = { perSecond: 2 * 2 ** 20, burst: 32 * 2 ** 20 };
/** A key may speak for several machines. */
const machinesOfKey = 10;
/** Seconds that a caller who used nothing may use up at once. */
const lineBurstS = 20;
const callBurstS = 10;
const byteBurstS = 8;

const rateOf = (perSecond: number, burstS: number, times = 1): Rate =>
  perSecond === 0
    ? { perSecond: Infinity, burst: Infinity }
    : { perSecond: perSecond * times, burst: perSecond * times * burstS };
const times = (rate: Rate, by: number): Rate => ({ perSecond: rate.perSecond * by, burst: rate.burst * by });

type Kind = 'calls' | 'bytes' | 'log lines' | 'bytes of log lines';
type Buckets = Record<Kind, { rate: Rate; buckets: TokenBuckets }>;

type Limits = Pick<CloudOptions, 'machineLinesPerS' | 'machineCallsPerS' | 'keyCallsPerS' | 'callerMibPerS'>;

export function callerBudgets(limits: Limits, clock: Clock): CallerBudgets {
  const of = (rate: Rate) => ({ rate, buckets: new TokenBuckets(rate) });
  const bytes = of(rateOf(limits.callerMibPerS * 2 ** 20, byteBurstS));
  const machines: Buckets = {
    calls: of(rateOf(limits.machineCallsPerS, callBurstS)),
    bytes,
    'log lines': of(rateOf(limits.machineLinesPerS, lineBurstS)),
    'bytes of log lines': of(logBytes),
  };
  const keys: Buckets = {
    calls: of(rateOf(limits.keyCallsPerS, callBurstS)),
    bytes,
    'log lines': of(rateOf(limits.machineLinesPerS, lineBurstS, machinesOfKey)),
    'bytes of log lines': of(times(logBytes, machinesOfKey)),
  };
  const bucketsOf = ({ kind }: Caller): Buckets => (kind === 'part' ? machines : keys);
  const keyOf = ({ kind, id }: Caller): string => `${kind} ${id}`;
  const charge = (caller: Caller, kind: Kind, amount: number): void =>
    bucketsOf(caller)[kind].buckets.charge(keyOf(caller), amount, clock.now());
  return {
    admit(caller, call, announced) {
      const kinds: readonly Kind[] =
        call === logCall ? ['calls', 'bytes', 'log lines', 'bytes of log lines'] : ['calls', 'bytes'];
      for (const kind of kinds) {
        const { rate, buckets } = bucketsOf(caller)[kind];
        const waitMs = buckets.waitMs(keyOf(caller), clock.now());
        if (waitMs > 0) throw exceeded(`${rate.perSecond} ${kind} a second`, waitMs);
      }
      charge(caller, 'calls', 1);
      charge(caller, 'bytes', announced);
    },
    chargeLines(caller, lines, size) {
      charge(caller, 'log lines', lines);
      charge(caller, 'bytes of log lines', size);
    },
  };
}

const exceeded = (limit: string, waitMs: number): PlatformError =>
  new PlatformError('BUDGET_EXCEEDED', { limit, retryAfterS: Math.max(1, Math.ceil(waitMs / 1_000)) });
