import { open, readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Source, SourceFile } from '@platform/dataset-files/source';
import { PlatformError } from '@platform/contract/errors/errors';
import { errorText } from '@platform/kit';

/** The files below a folder. Does not follow links and does not look into hidden folders. */
export async function folderSource(folder: string): Promise<Source> {
  const files = await filesBelow(folder);
  return source(files, (file) => path.join(folder, file));
}

/** The same files with one more if it lies elsewhere. `name`: its path in the source. */
export async function withFile(known: Source, folder: string, file: string): Promise<{ source: Source; name: string }> {
  const inside = path.relative(folder, file).split(path.sep).join('/');
  if (known.files.some((one) => one.path === inside)) return { source: known, name: inside };
  const name = path.basename(file);
  const { size } = await stat(file).catch((error: unknown) => {
    throw new PlatformError(
      'INVALID_ARGUMENT',
      { field: '--annotations', value: file, limit: errorText(error) },
      error,
    );
  });
  const other = source([{ path: name, sizeBytes: size }], () => file);
  return {
    name,
    source: {
      files: [...known.files.filter((one) => one.path !== name), ...other.files],
      read: async (one) => (one === name ? other : known).read(one),
      readStart: async (one, bytes) => (one === name ? other : known).readStart(one, bytes),
    },
  };
}

function source(files: readonly SourceFile[], placeOf: (file: string) => string): Source {
  const known = new Set(files.filter(({ isLink }) => !isLink).map((file) => file.path));
  const place = (file: string): string => {
    if (!known.has(file)) throw new Error(`${file} is not below the folder`);
    return placeOf(file);
  };
  return {
    files,
    read: async (file) => readFile(place(file)),
    readStart: async (file, bytes) => {
      const handle = await open(place(file));
      try {
        const { buffer, bytesRead } = await handle.read(new Uint8Array(bytes), 0, bytes, 0);
        return buffer.subarray(0, bytesRead);
      } finally {
        await handle.close();
      }
    },
  };
}

/** In a deterministic order. A hidden folder is one entry. */
async function filesBelow(folder: string): Promise<SourceFile[]> {
  const sources: SourceFile[] = [];
  const scan = async (at: string): Promise<void> => {
    const entries = await readdir(path.join(folder, at), { withFileTypes: true });
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const place = at === '' ? entry.name : `${at}/${entry.name}`;
      if (entry.isDirectory()) {
        if (entry.name.startsWith('.')) sources.push({ path: `${place}/`, sizeBytes: 0 });
        else await scan(place);
      } else if (entry.isSymbolicLink()) sources.push({ path: place, sizeBytes: 0, isLink: true });
      else if (entry.isFile()) sources.push({ path: place, sizeBytes: (await stat(path.join(folder, place))).size });
    }
  };
  try {
    await scan('');
  } catch (error) {
    throw new PlatformError('INVALID_ARGUMENT', { field: 'folder', value: folder, limit: errorText(error) }, error);
  }
  return sources;
}
