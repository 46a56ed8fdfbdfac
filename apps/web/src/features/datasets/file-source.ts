import type { Source } from '@platform/dataset-files/source';

/** A file that the user chose, as the browser reports it. */
export interface ChosenFile {
  name: string;
  /** With folders, from the chosen one on: "images/cup/1.jpg"; empty for single files. */
  path: string;
  source: Blob;
}

/** The files by their path below the chosen folder, or by name. Single files of one name get numbers. */
export function filesByPath<F extends ChosenFile>(files: readonly F[]): Map<string, F> {
  const found = new Map<string, F>();
  for (const file of files) {
    const path = file.path.includes('/') ? file.path.slice(file.path.indexOf('/') + 1) : file.name;
    let free = path;
    for (let n = 2; found.has(free); n++)
      free = `${path.slice(0, path.lastIndexOf('/') + 1)}${n} ${path.slice(path.lastIndexOf('/') + 1)}`;
    found.set(free, file);
  }
  return found;
}

/** Lets the importer read the files. */
export function fileSource(files: ReadonlyMap<string, Blob>): Source {
  const bytesOf = async (path: string, end?: number): Promise<Uint8Array> => {
    const file = files.get(path);
    if (!file) throw new Error(`${path} was not chosen`);
    return new Uint8Array(await file.slice(0, end).arrayBuffer());
  };
  return {
    files: [...files].map(([path, { size }]) => ({ path, sizeBytes: size })),
    read: async (path) => bytesOf(path),
    readStart: bytesOf,
  };
}
