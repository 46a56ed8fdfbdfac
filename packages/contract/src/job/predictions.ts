/** What a job of kind `predict` leaves in out/: one line of JSON per image. */

/** The only file that becomes suggestions. */
export const predictionFile = 'predictions.jsonl';

export const predictionLimits = {
  /** Suggestions per image; the ones with the lowest scores are left out. */
  suggestions: 100,
  /** Bytes of a line. */
  lineBytes: 1024 * 1024,
  labelCharacters: 1000,
} as const;

/** Corners in 0..1 of the image's width and height: x_min, y_min, x_max, y_max. */
export type PredictedBox = readonly [number, number, number, number];

export interface Predicted {
  readonly label: string;
  readonly score: number;
  /** Absent: a label of the whole image. */
  readonly box?: PredictedBox;
}
export interface PredictionLine {
  readonly binary_data_id: string;
  /** Above the model's thresholds, the highest score first. */
  readonly suggestions: readonly Predicted[];
  /** What the model gives each of its labels; a detector: its best box of the label. */
  readonly scores: Readonly<Record<string, number>>;
  /** Images with the same number are near copies of each other. */
  readonly copy_group?: number;
}

const isScore = (value: unknown): value is number => typeof value === 'number' && value >= 0 && value <= 1;
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isLabel = (value: unknown): value is string =>
  typeof value === 'string' &&
  value !== '' &&
  value.length <= predictionLimits.labelCharacters &&
  !value.includes('\0');

/** @throws Error with the field that is invalid. */
export function parsePredictionLine(text: string): PredictionLine {
  const value: unknown = JSON.parse(text);
  if (!isObject(value)) throw new Error('it is not an object');
  const { binary_data_id: id, suggestions, scores, copy_group: group } = value;
  if (typeof id !== 'string') throw new Error('binary_data_id is not a text');
  if (!Array.isArray(suggestions) || suggestions.length > predictionLimits.suggestions)
    throw new Error(`suggestions is not a list of at most ${predictionLimits.suggestions}`);
  if (!isObject(scores) || !Object.entries(scores).every(([label, score]) => isLabel(label) && isScore(score)))
    throw new Error('scores is not an object of numbers from 0 to 1');
  if (group !== undefined && !(Number.isInteger(group) && (group as number) >= 0 && (group as number) < 2 ** 31))
    throw new Error('copy_group is not a whole number');
  return {
    binary_data_id: id,
    suggestions: suggestions.map(predicted),
    scores: scores as Record<string, number>,
    ...(group === undefined ? {} : { copy_group: group as number }),
  };
}

function predicted(value: unknown): Predicted {
  const { label, score, box } = isObject(value) ? value : {};
  if (!isLabel(label) || !isScore(score)) throw new Error('a suggestion has no label, or no score from 0 to 1');
  if (box === undefined) return { label, score };
  const corners: unknown[] = Array.isArray(box) ? box : [];
  const [xMin, yMin, xMax, yMax] = corners.filter(isScore);
  if (xMin === undefined || yMin === undefined || xMax === undefined || yMax === undefined || corners.length !== 4)
    throw new Error('a box is not four numbers from 0 to 1');
  if (xMin >= xMax || yMin >= yMax) throw new Error('a box has no area');
  return { label, score, box: [xMin, yMin, xMax, yMax] };
}
