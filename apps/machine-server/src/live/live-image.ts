import { decodeImage } from '../images/decoder.ts';
import type { Image } from '../images/image.ts';
import type { JpegCodec } from '../images/jpeg-codec.ts';
import { resize } from '../images/resize.ts';

/** What the management server takes. */
const limits = { bytes: 60_000, side: 640 } as const;

/** The first that fits is used. */
const qualities = [75, 60, 45, 30, 15];

/** A small JPEG of an image, without the metadata of its file. @throws PlatformError INVALID_IMAGE */
export async function liveImage(bytes: Uint8Array, name: string, jpeg: JpegCodec): Promise<Uint8Array<ArrayBuffer>> {
  const image = await decodeImage(bytes, name, jpeg);
  for (let side: number = limits.side; ; side /= 2) {
    const small = withinSide(image, side);
    for (const quality of qualities) {
      const encoded = await jpeg.encode(small, quality);
      // Noise of 20 pixels a side fits at any quality.
      if (encoded.length <= limits.bytes || side < 40) return encoded;
    }
  }
}

function withinSide(image: Image, side: number): Image {
  const scale = side / Math.max(image.width, image.height);
  if (scale >= 1) return image;
  const scaled = (pixels: number): number => Math.max(1, Math.round(pixels * scale));
  return resize(image, scaled(image.width), scaled(image.height));
}
