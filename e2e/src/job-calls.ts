// The random calls of three clients and two runners, and the faults during them.
import * as fc from 'fast-check';

export type RunnerCall =
  | { is: 'lease' | 'report' | 'complete' | 'confirm' | 'vanish' | 'late-report' | 'late-complete'; runner: number }
  | { is: 'fail'; runner: number; cause: string };
export type Call =
  | RunnerCall
  | { is: 'submit'; client: number; version: number }
  | { is: 'cancel' | 'delete' | 'get' | 'logs'; client: number; job: number }
  | { is: 'list'; client: number; size: number };
type Crash =
  | { is: 'none' }
  | { is: 'server' | 'database'; afterMs: number }
  /** All leases expire. */
  | { is: 'silence' }
  | { is: 'jump'; hours: number };
/** Concurrent calls, and the fault during them. */
export type Burst = { calls: Call[]; crash: Crash };

const client = fc.nat(2);
const runner = fc.nat(1);
const job = fc.nat(9);
const of = <T extends Call>(weight: number, arbitrary: fc.Arbitrary<T>) => ({ weight, arbitrary });
const named = <const K extends string>(is: K) => fc.constant(is);
const call: fc.Arbitrary<Call> = fc.oneof(
  of(6, fc.record({ is: named('submit'), client, version: fc.nat(7) })),
  of(2, fc.record({ is: named('cancel'), client, job })),
  of(2, fc.record({ is: named('delete'), client, job })),
  of(2, fc.record({ is: named('get'), client, job })),
  of(2, fc.record({ is: named('logs'), client, job })),
  of(1, fc.record({ is: named('list'), client, size: fc.integer({ min: 1, max: 3 }) })),
  of(7, fc.record({ is: named('lease'), runner })),
  of(7, fc.record({ is: named('report'), runner })),
  of(5, fc.record({ is: named('complete'), runner })),
  of(2, fc.record({ is: named('confirm'), runner })),
  of(1, fc.record({ is: named('vanish'), runner })),
  of(2, fc.record({ is: named('late-report'), runner })),
  of(2, fc.record({ is: named('late-complete'), runner })),
  of(2, fc.record({ is: named('fail'), runner, cause: fc.constantFrom('data', 'infrastructure') })),
);
const afterMs = fc.nat(40);
const crash: fc.Arbitrary<Crash> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ is: named('none') }) },
  { weight: 1, arbitrary: fc.record({ is: named('server'), afterMs }) },
  { weight: 1, arbitrary: fc.record({ is: named('database'), afterMs }) },
  { weight: 2, arbitrary: fc.record({ is: named('silence') }) },
  { weight: 1, arbitrary: fc.record({ is: named('jump'), hours: fc.integer({ min: -5, max: 5 }) }) },
);
export const bursts: fc.Arbitrary<Burst[]> = fc.array(
  fc.record({ calls: fc.array(call, { minLength: 1, maxLength: 9 }), crash }),
  { minLength: 4, maxLength: 16, size: 'max' },
);
