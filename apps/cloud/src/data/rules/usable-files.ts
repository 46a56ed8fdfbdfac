/** Which files of a dataset a training uses, and what it says about the others. */
import type { JobKind } from '@platform/contract/job/job';
import type { Labelled } from './dataset-rules.ts';

type File = Pick<Labelled, 'id' | 'fileName' | 'mimeType' | 'imageProblem' | 'imageUsedBits'>;

/**
 * Whether a training leaves a file out. A built-in trainer learns from images alone. A script gets other files, too, but
 * not one that claims to be an image and cannot be used as one.
 */
export const isLeftOut = (kind: JobKind, { imageProblem, mimeType = '' }: File): boolean =>
  (imageProblem ?? null) !== null && (kind !== 'custom' || mimeType.startsWith('image/'));

export interface FileNotes {
  add(file: File): void;
  readonly leftOut: number;
  /** One sentence each, for users. */
  sentences(): string[];
}

const mostNames = 3;

/** Counts the files that are left out, and the images that are nearly black as they are. */
export function fileNotes(kind: JobKind): FileNotes {
  const names: string[] = [];
  const counts = { leftOut: 0, dark: 0 };
  const bits = new Set<number>();
  return {
    add(file) {
      if (isLeftOut(kind, file)) {
        counts.leftOut++;
        if (names.length < mostNames) names.push(`${file.fileName || file.id || 'a file'} ${file.imageProblem}`);
      } else if (kind !== 'custom' && (file.imageUsedBits ?? 16) < 16) {
        counts.dark++;
        bits.add(file.imageUsedBits ?? 16);
      }
    },
    get leftOut() {
      return counts.leftOut;
    },
    sentences: () => [
      ...(counts.leftOut > 0 ? [leftOutSentence(counts.leftOut, names)] : []),
      ...(counts.dark > 0
        ? [
            darkSentence(
              counts.dark,
              [...bits].toSorted((a, b) => a - b),
            ),
          ]
        : []),
    ],
  };
}

function leftOutSentence(count: number, names: readonly string[]): string {
  const more = count > names.length ? `; and ${count - names.length} more` : '';
  const what =
    count === 1
      ? '1 file is left out, because it cannot be used as an image'
      : `${count} files are left out, because they cannot be used as images`;
  return `${what}: ${names.join('; ')}${more}.`;
}

function darkSentence(count: number, bits: readonly number[]): string {
  const what = count === 1 ? '1 image of 16 bits uses' : `${count} images of 16 bits use`;
  return `${what} ${bits.join(' or ')} of them and ${count === 1 ? 'is' : 'are'} nearly black as stored: the training and machines stretch such images to the full range.`;
}
