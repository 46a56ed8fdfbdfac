import { gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';
import type { Header } from 'tar-stream';

type Piece = Partial<Header> & { name: string; content?: string | Uint8Array };

/** Creates a .tar.gz with exactly these entries, including malicious ones. */
export async function tarGz(entries: readonly Piece[]): Promise<Buffer> {
  const tar = pack();
  for (const { content, ...header } of entries) {
    if (content === undefined) tar.entry(header);
    else tar.entry({ ...header }, content);
  }
  tar.finalize();
  const parts: Buffer[] = [];
  for await (const part of tar) parts.push(part as Buffer);
  return gzipSync(Buffer.concat(parts));
}
