import { gzipSync } from 'node:zlib';
import tar from 'tar-stream';

type Header = Parameters<tar.Pack['entry']>[0];
export type Entry = Header & { text?: string };

/** A training script that can be unpacked; the texts distinguish versions. */
export const scriptEntries = (text = 'print(1)'): Entry[] => [
  { name: 'setup.py', text: 'from setuptools import setup; setup(name="model")' },
  { name: 'model/__init__.py', text: '' },
  { name: 'model/training.py', text },
];

/** Packs the entries as .tar.gz, valid or not. */
export async function archiveOf(entries: readonly Entry[]): Promise<Buffer> {
  const pack = tar.pack();
  for (const { text = '', ...header } of entries) pack.entry({ mtime: new Date(0), ...header }, text);
  pack.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of pack) chunks.push(chunk as Buffer);
  return gzipSync(Buffer.concat(chunks));
}
