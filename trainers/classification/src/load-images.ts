/** Decodes the images of the examples, leaving out what can't be used and saying so. */
import { decodeImages } from '@platform/trainer-engine/dataset-images';
import type { Skipped } from '@platform/trainer-engine/dataset-images';
import { decode } from '@platform/trainer-engine/images';
import type { PixelFile } from '@platform/trainer-engine/images';
import type { Example } from './dataset.ts';

/** An example whose pixels are in the files under `index`. */
export interface Sample extends Example {
  index: number;
}
export interface LoadedImages {
  samples: readonly Sample[];
  skipped: readonly Skipped[];
}
export interface PixelFiles {
  /** As the delivered model sees images. */
  exact: PixelFile;
  /** Larger, to cut views out of; training images alone. */
  large: PixelFile;
}

/** Wrong images are skipped; an image file that is not there is the runner's fault and ends the job. */
export function loadImages(
  examples: readonly Example[],
  folder: string,
  files: PixelFiles,
  how: { width: number; signal: AbortSignal; onDone: (share: number) => void },
): Promise<LoadedImages> {
  return decodeImages(
    examples,
    folder,
    async (file, index, { line }) => {
      files.exact.write(index, await decode(file, files.exact.side));
      if (line.split === 'train') files.large.write(index, await decode(file, files.large.side));
    },
    how,
  );
}
