/** Which parts of libvips may touch images that anybody uploaded. */
import sharp from 'sharp';

/**
 * Blocks all loaders but those of JPEG, PNG and WebP files, for the whole process. Most holes of image libraries lie in loaders
 * that no camera needs. libvips looks for a loader by the bytes of a file, whatever its name is. Our own drawings are SVG, in
 * memory; uploaded images are files.
 */
export function blockOtherLoaders(): void {
  sharp.block({ operation: ['VipsForeignLoad'] });
  sharp.unblock({
    operation: [
      'VipsForeignLoadJpegFile',
      'VipsForeignLoadPngFile',
      'VipsForeignLoadWebpFile',
      'VipsForeignLoadSvgBuffer',
    ],
  });
}
