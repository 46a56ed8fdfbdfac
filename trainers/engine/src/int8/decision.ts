/** Whether the INT8 form of a model is delivered. */
import { scoreText } from '@platform/contract/job/confidence';
import type { Int8Report } from '@platform/contract/job/evaluation';

export interface MeasuredScore {
  metric: Int8Report['metric'];
  score: number;
  /** Cases of the score: images, or boxes of a detector. */
  cases: number;
}

/** One standard error of the score, and at least one case: a perfect score has a standard error of 0. */
export const allowedLoss = ({ score, cases }: MeasuredScore): number =>
  cases > 0 ? Math.max(Math.sqrt((score * (1 - score)) / cases), 1 / cases) : 0;

/** Scores are sums of float64 shares: a difference of one case is not exactly 1 / cases. */
const rounding = 1e-9;

/** @param int8 - its score on the same images. */
export function int8Decision(float32: MeasuredScore, int8: number): { isDelivered: boolean; reason: string } {
  const { metric, score, cases } = float32;
  if (cases === 0) return { isDelivered: false, reason: 'No held-out image shows what it loses.' };
  const [own, other] = [int8, score].map((one) => scoreText(metric, one, cases));
  const limit = `${(100 * allowedLoss(float32)).toFixed(1)} points`;
  const isDelivered = score - int8 <= allowedLoss(float32) + rounding;
  const reason = `It loses ${isDelivered ? 'at most' : 'more than'} one standard error, ${limit}: ${own} instead of ${other}.`;
  return { isDelivered, reason };
}
