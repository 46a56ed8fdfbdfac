/** What a stored file is, as its decoder found. */
import { usedBitsOf } from '@platform/contract/job/image-limits';

export type ImageContent =
  | {
      readonly kind: 'image';
      /** Media type. */
      readonly type: string;
      /** Upright. */
      readonly width: number;
      readonly height: number;
      /** Set if the image has 16 bits per channel; null: it has 8. */
      readonly usedBits: number | null;
    }
  /** `problem` continues the name of the file: what it is and what to do. */
  | { readonly kind: 'broken' | 'too_large' | 'other'; readonly problem: string };

/** What the decoder answers about an image that it read to the end. */
export interface DecodedImage {
  readonly format: string;
  readonly width: number;
  readonly height: number;
  readonly orientation: number;
  /** The largest value of the colours, if the image has 16 bits per channel. */
  readonly largest?: number;
}

const types: Readonly<Record<string, string>> = { jpeg: 'image/jpeg', png: 'image/png', webp: 'image/webp' };

/** @returns undefined for a format that is none of the three. */
export function contentOf({ format, width, height, orientation, largest }: DecodedImage): ImageContent | undefined {
  const type = types[format];
  if (type === undefined) return undefined;
  const [across, down] = orientation >= 5 ? [height, width] : [width, height];
  return {
    kind: 'image',
    type,
    width: across,
    height: down,
    usedBits: largest === undefined ? null : usedBitsOf(largest),
  };
}

/** What libvips says of a damaged file, as the end of a sentence about it. */
export function brokenBecause(message: string): string {
  const isCut = /premature end|end of (file|stream|data)|truncat|read error|not enough|no more/i.test(message);
  return isCut
    ? 'is a broken image: it ends too early. Copy or export it again'
    : 'is a broken image: it cannot be decoded. Export it again as JPEG or PNG';
}
