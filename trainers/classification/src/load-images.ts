/** Decodes the pictures of the examples, leaving out what can't be used and saying so. */
import { takePictures } from '@platform/trainer-engine/dataset-images';
import type { Skipped } from '@platform/trainer-engine/dataset-images';
import { decode } from '@platform/trainer-engine/images';
import type { PixelFile } from '@platform/trainer-engine/images';
import type { Example } from './dataset.ts';

/** An example whose pixels are in the files under `index`. */
export interface Sample extends Example {
  index: number;
}
export interface Intake {
  samples: readonly Sample[];
  skipped: readonly Skipped[];
}
export interface PixelFiles {
  /** As the delivered model sees pictures. */
  exact: PixelFile;
  /** Larger, to cut views out of; training pictures alone. */
  large: PixelFile;
}

/** Wrong pictures are skipped; a picture file that is not there is the runner's fault and ends the job. */
export function takeIn(
  examples: readonly Example[],
  folder: string,
  files: PixelFiles,
  how: { width: number; signal: AbortSignal; onDone: (share: number) => void },
): Promise<Intake> {
  return takePictures(
    examples,
    folder,
    async (picture, index, { line }) => {
      files.exact.write(index, await decode(picture, files.exact.side));
      if (line.split === 'train') files.large.write(index, await decode(picture, files.large.side));
    },
    how,
  );
}
