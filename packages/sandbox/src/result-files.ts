/** What a script left in its output folder, as it may become a model version. */
import { readdir } from 'node:fs/promises';
import path from 'node:path';

export interface ResultFiles {
  /** Regular files, relative to the folder, with slashes, in order; without tmp/. */
  readonly paths: readonly string[];
  /** A line about each thing that is no part of a model version; the first twenty. */
  readonly leftOut: readonly string[];
}

const deepestFolder = 16;
const mostLines = 20;
/** Each name becomes one in an archive, on machines, and in addresses. */
const nameForm = /^[^\p{C}\p{Zl}\p{Zp}\\\uFFFD]{1,255}$/u;

export async function resultFiles(folder: string): Promise<ResultFiles> {
  const paths: string[] = [];
  const leftOut: string[] = [];
  const leave = (name: string, why: string): void => {
    if (leftOut.length < mostLines) leftOut.push(`Left out of the result: ${JSON.stringify(name)} ${why}.`);
  };
  const enter = async (at: string, depth: number): Promise<void> => {
    for (const entry of await readdir(path.join(folder, at), { withFileTypes: true })) {
      const name = at === '' ? entry.name : `${at}/${entry.name}`;
      if (name === 'tmp' && entry.isDirectory()) continue;
      if (!nameForm.test(entry.name)) leave(name, 'has a name that cannot be stored');
      else if (entry.isSymbolicLink()) leave(name, 'is a link');
      else if (entry.isDirectory() && depth === deepestFolder) leave(name, 'lies too deep');
      else if (entry.isDirectory()) await enter(name, depth + 1);
      else if (!entry.isFile()) leave(name, 'is no regular file');
      else paths.push(name);
    }
  };
  await enter('', 1);
  return { paths: paths.toSorted(), leftOut };
}
