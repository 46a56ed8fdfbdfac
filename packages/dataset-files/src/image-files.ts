import { extensionOf } from './file-names.ts';
import { type ImageHeader, isImageStart, readImageHeader } from './image-header.ts';
import type { LedgerWriter } from './ledger.ts';
import type { Source, SourceFile } from './source.ts';

/** The server accepts messages of 64 MiB. */
const mostImageBytes = 60_000_000;

const imageExtensions = new Set(['jpg', 'jpeg', 'jpe', 'jfif', 'png', 'webp']);
const dataExtensions = new Set(
  'json jsonl ndjson manifest xml csv tsv txt yaml yml names data labels record tfrecord parquet'.split(' '),
);
/** Files of other programs, which hold no annotations. */
const otherExtensions = new Set(
  'md rst py ipynb sh bat ps1 toml ini cfg log html css js cache lock pt pth onnx tflite h5 pkl pbtxt sha256 md5'.split(
    ' ',
  ),
);

/** Why a file holds neither images nor annotations, by its name alone. */
function noDataReason(path: string): string | undefined {
  const parts = path.split('/');
  const name = parts.at(-1) ?? '';
  if (parts.some((part) => /^(__MACOSX|@eaDir|\$RECYCLE\.BIN|System Volume Information)$/.test(part)))
    return 'in a folder of the operating system';
  if (parts.some((part) => part.startsWith('.'))) return 'hidden';
  if (/^(thumbs\.db|desktop\.ini)$/i.test(name)) return 'of the operating system';
  if (/^(readme|licen[cs]e|notice|copying|changelog|contributing)$/i.test(name)) return 'documentation';
  return otherExtensions.has(extensionOf(path)) ? 'of another program' : undefined;
}

export interface SortedFiles {
  /** Images that can be used. */
  readonly headers: ReadonlyMap<string, ImageHeader>;
  readonly sizes: ReadonlyMap<string, number>;
  /** Images that are left out. */
  readonly unusable: readonly string[];
  /** Files that may hold annotations. */
  readonly dataFiles: readonly string[];
}

/** Sorts the files by their content into images, and those that may hold annotations. The rest goes to the ledger. */
export async function sortFiles(source: Source, ledger: LedgerWriter): Promise<SortedFiles> {
  const headers = new Map<string, ImageHeader>();
  const sizes = new Map<string, number>();
  const unusable: string[] = [];
  const dataFiles: string[] = [];
  const sortFile = async (file: SourceFile): Promise<void> => {
    const { path, sizeBytes } = file;
    const noData = noDataReason(path);
    if (noData !== undefined) return ledger.file(path, 'not data', noData);
    if (!file.isLink && dataExtensions.has(extensionOf(path))) return void dataFiles.push(path);
    const found = await headerOf(source, file);
    if ('problem' in found) {
      if (imageExtensions.has(extensionOf(path))) unusable.push(path);
      return ledger.file(path, 'left out', found.problem);
    }
    headers.set(path, found.header);
    sizes.set(path, sizeBytes);
    const { type } = found.header;
    const isNamed = extensionOf(path) === type || (type === 'jpg' && /^(jpeg|jpe|jfif)$/.test(extensionOf(path)));
    return ledger.file(path, 'image', isNamed ? undefined : `is ${type.toUpperCase()}, whatever its name says`);
  };
  await inLanes(source.files, sortFile);
  const order = <T>(entries: Iterable<[string, T]>): Map<string, T> =>
    new Map([...entries].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return { headers: order(headers), sizes, unusable, dataFiles: dataFiles.toSorted() };
}

/** Opens several files at a time: most of the time goes into waiting for the disk. */
const lanes = 16;
async function inLanes(files: readonly SourceFile[], take: (file: SourceFile) => Promise<void>): Promise<void> {
  const waiting = files.values();
  const lane = async (): Promise<void> => {
    for (const file of waiting) await take(file);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

async function headerOf(
  source: Source,
  { path, sizeBytes, isLink }: SourceFile,
): Promise<{ readonly header: ImageHeader } | { readonly problem: string }> {
  if (isLink) return { problem: 'is a link' };
  if (sizeBytes > mostImageBytes && isImageStart(await source.readStart(path, 64)))
    return { problem: 'is larger than 60 MB' };
  return readImageHeader(sizeBytes, (bytes) => source.readStart(path, bytes));
}
