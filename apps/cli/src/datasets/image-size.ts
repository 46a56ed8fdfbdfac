import { PlatformError } from '@platform/contract/errors';
import { errorText } from '@platform/kit';

/** Width and height of an image as it is shown: turned as its EXIF data say. Reads the head of the file alone. */
export async function imageSize(file: string): Promise<{ width: number; height: number }> {
  // Loaded here: no other command waits for it.
  const { default: sharp } = await import('sharp');
  try {
    const { width, height, orientation = 1 } = await sharp(file).metadata();
    return orientation >= 5 ? { width: height, height: width } : { width, height };
  } catch (error) {
    throw new PlatformError('INVALID_ARGUMENT', { field: file, limit: `it is no image: ${errorText(error)}` }, error);
  }
}
