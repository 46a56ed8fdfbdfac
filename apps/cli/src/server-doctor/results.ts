export interface CheckResult {
  /** The check; a constant name that programs can rely on. */
  readonly name: string;
  readonly at: 'ok' | 'note' | 'warning' | 'failed';
  /** What was found. */
  readonly says: string;
  /** Why it matters; empty unless something must be done. */
  readonly why: string;
  /** What to do. */
  readonly remedy: string;
}

type Advice = Pick<CheckResult, 'why' | 'remedy'>;
const none: Advice = { why: '', remedy: '' };

export const ok = (name: string, says: string): CheckResult => ({ name, at: 'ok', says, ...none });
export const note = (name: string, says: string): CheckResult => ({ name, at: 'note', says, ...none });
export const warning = (name: string, says: string, advice: Advice): CheckResult => ({
  name,
  at: 'warning',
  says,
  ...advice,
});
export const failed = (name: string, says: string, advice: Advice): CheckResult => ({
  name,
  at: 'failed',
  says,
  ...advice,
});

/** The worst state among them; ok if there is none. */
export const worstOf = (results: readonly CheckResult[]): CheckResult['at'] =>
  (['failed', 'warning', 'note'] as const).find((at) => results.some((one) => one.at === at)) ?? 'ok';

export const isFinding = ({ at }: CheckResult): boolean => at === 'warning' || at === 'failed';
