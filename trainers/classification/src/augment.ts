/** How much a view of a picture may differ from the picture. */
import type { View } from '@platform/trainer-engine/pictures';
import type { Random } from '@platform/trainer-engine/random';
import type { Lesson } from './fine-tune.ts';

export interface Looks {
  /** The least share of the picture's area that is seen. */
  area: number;
  /** How far the edges may be stretched against each other: 0.2 is by up to e^0.2. */
  stretch: number;
  /** Largest change of brightness, contrast and saturation: 0.25 is by up to a quarter. */
  colour: number;
  /** Largest turn in degrees, either way. */
  turn: number;
}

export function randomView(side: number, { area: least, stretch: most, colour, turn }: Looks, random: Random): View {
  const area = least + (1 - least) * random();
  const stretch = Math.exp((random() - 0.5) * 2 * most);
  const width = Math.min(side, side * Math.sqrt(area * stretch));
  const height = Math.min(side, side * Math.sqrt(area / stretch));
  const change = (): number => 1 - colour + 2 * colour * random();
  return {
    width,
    height,
    left: random() * (side - width),
    top: random() * (side - height),
    mirrored: random() < 0.5,
    brightness: change(),
    contrast: change(),
    saturation: change(),
    ...(turn === 0 ? {} : { angle: ((random() - 0.5) * 2 * turn * Math.PI) / 180 }),
  };
}

/** Least and most of the picture's area that a piece of another picture takes. */
const pieceArea = [0.1, 0.35] as const;

/** Copies a random rectangle of `from` to the same place of the picture at `offset`. @returns its share of the area. */
export function pastePiece(
  into: Float32Array,
  offset: number,
  from: Float32Array,
  side: number,
  random: Random,
): number {
  const area = pieceArea[0] + (pieceArea[1] - pieceArea[0]) * random();
  const shape = Math.exp(random() - 0.5);
  const width = Math.min(side, Math.round(side * Math.sqrt(area * shape)));
  const height = Math.min(side, Math.round(side * Math.sqrt(area / shape)));
  const left = Math.floor(random() * (side - width + 1));
  const top = Math.floor(random() * (side - height + 1));
  for (let y = top; y < top + height; y++) {
    const start = (y * side + left) * 3;
    into.set(from.subarray(start, start + width * 3), offset + start);
  }
  return (width * height) / (side * side);
}

/** @param share - of the other one. */
export function mixed(one: Lesson, other: Lesson, share: number): Lesson {
  const mix = (a: readonly number[], b: readonly number[]): number[] =>
    a.map((value, k) => value + share * ((b[k] ?? 0) - value));
  return { target: mix(one.target, other.target), weights: mix(one.weights, other.weights) };
}
