/** Decodes the images of the examples; skips unusable ones and reports them. */
import { decodeImages } from '@platform/trainer-engine/dataset-images';
import type { Skipped } from '@platform/trainer-engine/dataset-images';
import { decode } from '@platform/trainer-engine/images';
import type { PixelFile } from '@platform/trainer-engine/images';
import type { Example } from './dataset.ts';

/** An example whose pixels are stored under `index`. */
export interface Sample extends Example {
  index: number;
}
export interface LoadedImages {
  samples: readonly Sample[];
  skipped: readonly Skipped[];
  /** Median of the shorter edges, in pixels. */
  edge: number;
}
export interface PixelFiles {
  /** At the input size of the exported model. */
  exact: PixelFile;
  /** Larger copies for random crops; training images only. */
  large: PixelFile;
}

/** Skips invalid images. A missing image file is a defect of the runner and ends the job. */
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
