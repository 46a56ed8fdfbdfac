import { PlatformError } from '@platform/contract/errors/errors';

export interface LabelCount {
  label: string;
  count: number;
  limit: number;
}

/**
 * @param others - the label's images or boxes that do not count, by the reason.
 * @throws PlatformError with `code` if there are fewer than the limit.
 */
export function requireCount(
  code: 'TOO_FEW_IMAGES' | 'TOO_FEW_BOXES',
  { label, count, limit }: LabelCount,
  others: Readonly<Record<string, number>>,
): void {
  if (count >= limit) return;
  const reasons = Object.entries(others).filter(([, n]) => n > 0);
  const problem = reasons.map(([reason, n]) => `${n} ${reason}`).join(', ');
  throw new PlatformError(code, { label, count, limit, ...(problem && { problem }) });
}

/** Units of the split by label; `take` removes a unit from training. */
export class TrainingUnits {
  readonly byLabel = new Map<number, Set<string>>();
  readonly #labelsOf = new Map<string, Set<number>>();
  readonly #left = new Map<number, number>();
  readonly taken = new Set<string>();

  add(unit: string, label: number): void {
    const units = this.byLabel.get(label) ?? new Set();
    this.byLabel.set(label, units.add(unit));
    this.#labelsOf.set(unit, (this.#labelsOf.get(unit) ?? new Set()).add(label));
    this.#left.set(label, units.size);
  }
  /** Takes a unit unless one of its labels would have fewer than `fewest` left: a group may have several labels. */
  take(unit: string, fewest: number): boolean {
    const labels = this.#labelsOf.get(unit) ?? new Set();
    if (this.taken.has(unit) || [...labels].some((label) => (this.#left.get(label) ?? 0) <= fewest)) return false;
    for (const label of labels) this.#left.set(label, (this.#left.get(label) ?? 0) - 1);
    this.taken.add(unit);
    return true;
  }
}
