import { PlatformError } from '@platform/contract/errors';
import { errorText } from '@platform/kit';

/** Width and height of an image after its EXIF orientation. Reads only the file's header. */
export async function imageSize(file: string): Promise<{ width: number; height: number }> {
  // Imported here, so that other commands start faster.
  const { default: sharp } = await import('sharp');
  try {
    const { width, height, orientation = 1 } = await sharp(file).metadata();
    return orientation >= 5 ? { width: height, height: width } : { width, height };
  } catch (error) {
    throw new PlatformError(
      'INVALID_ARGUMENT',
      { field: file, limit: `it is not an image: ${errorText(error)}` },
      error,
    );
  }
}
