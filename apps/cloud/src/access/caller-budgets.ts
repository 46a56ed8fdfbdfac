import { PlatformError } from '@platform/contract/errors/errors';
import { RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import type { Clock } from '@platform/kit';
import type { Caller } from './rules/permissions.ts';
import { type Rate, TokenBuckets } from './rules/token-buckets.ts';

/** Links that a caller signed have a budget of their own: other holders of a link cannot exhaust that caller's. */
export type Payer = Pick<Caller, 'kind' | 'id'> | { kind: 'links'; id: string };

/** Rate limits of each machine, key, user and training attempt. They are checked before the message is read. */
export type CallerBudgets = {
  /** @param call - an RPC or a route. @param announced - bytes of its body. @throws PlatformError BUDGET_EXCEEDED */
  admit(caller: Payer, call: string, announced: number): void;
  /** Admits a config check of a machine. @returns BUDGET_EXCEEDED, or undefined: admitted. */
  admitCheck(partId: string): PlatformError | undefined;
  /** Charges bytes that no header announced, and bytes of files that the caller read. */
  chargeBytes(caller: Payer, bytes: number): void;
  /** Charges log lines that were accepted. */
  chargeLines(caller: Caller, lines: number, bytes: number): void;
};

const logCall = `${RobotService.typeName}/${RobotService.method.log.name}`;
/** An agent's spool holds 16 MiB of lines. The agent may send all of it at once after a time offline. */
const logBytes: Rate = { perSecond: 2 * 2 ** 20, burst: 32 * 2 ** 20 };
/** A key may send logs of several machines. */
const machinesOfKey = 10;
/** Burst of a budget in seconds of its rate. */
const lineBurstS = 20;
const callBurstS = 10;
/** 4 GiB at the default rate: the largest file that the server accepts. */
const byteBurstS = 16;

const rateOf = (perSecond: number, burstS: number, times = 1): Rate =>
  perSecond === 0
    ? { perSecond: Infinity, burst: Infinity }
    : { perSecond: perSecond * times, burst: perSecond * times * burstS };
const times = (rate: Rate, by: number): Rate => ({ perSecond: rate.perSecond * by, burst: rate.burst * by });

type Kind = 'calls' | 'bytes' | 'log lines' | 'bytes of log lines';
type Buckets = Record<Kind, { rate: Rate; buckets: TokenBuckets }>;

/** Options of the server. 0: no limit. */
type Limits = Readonly<Record<'machineLinesPerS' | 'machineCallsPerS' | 'keyCallsPerS' | 'callerMibPerS', number>>;

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
  const bucketsOf = ({ kind }: Payer): Buckets => (kind === 'part' ? machines : keys);
  // Config checks are too frequent to concatenate strings, so the key of a machine is its ID.
  const keyOf = ({ kind, id }: Payer): string => (kind === 'part' ? id : `${kind} ${id}`);
  const charge = (caller: Payer, kind: Kind, amount: number): void =>
    bucketsOf(caller)[kind].buckets.charge(keyOf(caller), amount, clock.now());
  return {
    admitCheck(partId) {
      const { rate, buckets } = machines.calls;
      const waitMs = buckets.take(partId, 1, clock.now());
      return waitMs > 0 ? exceeded(rate, 'calls', waitMs) : undefined;
    },
    chargeBytes: (caller, amount) => charge(caller, 'bytes', amount),
    admit(caller, call, announced) {
      const kinds: readonly Kind[] =
        call === logCall ? ['calls', 'bytes', 'log lines', 'bytes of log lines'] : ['calls', 'bytes'];
      for (const kind of kinds) {
        const { rate, buckets } = bucketsOf(caller)[kind];
        const waitMs = buckets.waitMs(keyOf(caller), clock.now());
        if (waitMs > 0) throw exceeded(rate, kind, waitMs);
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

const exceeded = ({ perSecond }: Rate, kind: Kind, waitMs: number): PlatformError =>
  new PlatformError('BUDGET_EXCEEDED', {
    limit: `${perSecond} ${kind} a second`,
    retryAfterS: Math.max(1, Math.ceil(waitMs / 1_000)),
  });

/** Bytes of a body by its content-length; 0 if the length is unknown or invalid. */
export const announcedBytes = (contentLength: string | null | undefined): number =>
  /^\d{1,15}$/.test(contentLength ?? '') ? Number(contentLength) : 0;

/** @returns charges each chunk of a body for its bytes beyond the announced ones. */
export function chargeBeyond(announced: number, charge: (bytes: number) => void): (chunkBytes: number) => void {
  let left = announced;
  return (chunkBytes) => {
    const beyond = chunkBytes - left;
    left = Math.max(0, -beyond);
    if (beyond > 0) charge(beyond);
  };
}
