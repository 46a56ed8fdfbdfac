/** What an upload has sent, kept in the browser, so that it goes on after a reload when the same files are chosen. */

export interface UploadRecord {
  readonly total: number;
  /** Keys of the images that the server has. */
  readonly done: ReadonlySet<string>;
}

interface RecordedFile {
  readonly path: string;
  readonly size: number;
  readonly lastModified: number;
  /** Labels, split and boxes: with others, the image is sent again. */
  readonly labels: string;
}

/** Names a file with its labels in few bytes; another version of the file has another key. */
export function uploadKey({ path, size, lastModified, labels }: RecordedFile): string {
  // Two 32-bit FNV-1a hashes from different starts: 64 bits.
  const text = `${path}\0${size}\0${lastModified}\0${labels}`;
  let [a, b] = [0x811c9dc5, 0x1b873593];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(b ^ code, 0x85ebca6b);
  }
  return (a >>> 0).toString(36) + (b >>> 0).toString(36);
}

const version = 1;

export const recordText = ({ total, done }: UploadRecord): string =>
  JSON.stringify({ version, total, done: [...done] });

/** Undefined: there is none, or it has another form. */
export function readRecord(text: string | null): UploadRecord | undefined {
  if (text === null) return undefined;
  try {
    const found = JSON.parse(text) as { version?: unknown; total?: unknown; done?: unknown };
    if (found.version !== version || typeof found.total !== 'number' || !Array.isArray(found.done)) return undefined;
    return { total: found.total, done: new Set(found.done.filter((key) => typeof key === 'string')) };
  } catch {
    return undefined;
  }
}
