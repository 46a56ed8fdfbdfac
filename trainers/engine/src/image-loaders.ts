/** Restricts which parts of libvips may read untrusted images. */
import sharp from 'sharp';

/**
 * Blocks all file loaders except JPEG, PNG and WebP, for the whole process. Most vulnerabilities of image libraries are
 * in loaders that no camera needs. libvips selects a loader by the content of a file, not by its name. The SVG loader
 * stays enabled for our own drawings, which are in memory; uploaded images are files.
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
