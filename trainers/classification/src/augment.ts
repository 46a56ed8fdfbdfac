/** How much a view of an image may differ from the image. */
import type { Augmentation } from '@platform/trainer-engine/images';
import type { Random } from '@platform/trainer-engine/random';

export interface AugmentationRanges {
  /** The least share of the image's area that is seen. */
  area: number;
  /** How far the edges may be stretched against each other: 0.2 is by up to e^0.2. */
  stretch: number;
  /** Largest change of brightness, contrast and saturation: 0.25 is by up to a quarter. */
  colour: number;
  /** Largest turn in degrees, either way. */
  turn: number;
}

export function randomAugmentation(
  side: number,
  { area: least, stretch: most, colour, turn }: AugmentationRanges,
  random: Random,
): Augmentation {
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
