/** A score of few held-out images, beside the cross-validated score of the linear probe over all images. */
import { scoreText } from './confidence.ts';
import { scoreName } from './model-kinds.ts';

/** With fewer held-out images, classifiers are cross-validated, too: from here on the interval is under ± 6 points at 90 %. */
export const fewHeldOut = 100;

export interface CrossValidation {
  /** The main score of the kind of model: `accuracy` or `micro_f1`. */
  score: string;
  value: number;
  /** Images that were each measured by a probe that had not seen them. */
  count: number;
  folds: number;
}

const isCrossValidation = (value: unknown): value is CrossValidation => {
  if (typeof value !== 'object' || value === null) return false;
  const { score, value: share, count, folds } = value as { [K in keyof CrossValidation]?: unknown };
  return [share, count, folds].every((one) => typeof one === 'number') && typeof score === 'string';
};

/** For users; undefined for an evaluation without one. Scripts write evaluations, too, so any field may be missing. */
export function crossValidationText(evaluation: object | null | undefined): string | undefined {
  const { cross_validation: found, count } = (evaluation ?? {}) as { cross_validation?: unknown; count?: unknown };
  if (!isCrossValidation(found)) return undefined;
  const { score, value, count: images, folds } = found;
  const held = typeof count === 'number' ? `Only ${count} images are held out. ` : '';
  return `${held}Cross-validated ${scoreName(score)} of the linear probe: ${scoreText(score, value, images)} on ${images} images in ${folds} folds, each measured by a probe that had not seen it. The delivered model is usually as good or better.`;
}
