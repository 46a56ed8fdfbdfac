/** Random augmentations of an image. */
import type { Augmentation } from '@platform/trainer-engine/images';
import type { Random } from '@platform/trainer-engine/random';

export interface AugmentationRanges {
  /** Minimum share of the image's area in a crop. */
  area: number;
  /** Maximum log of the aspect-ratio change: 0.2 means a factor of up to e^0.2. */
  stretch: number;
  /** Maximum relative change of brightness, contrast and saturation: 0.25 means up to 25 %. */
  colour: number;
  /** Maximum rotation in degrees, in both directions. */
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
