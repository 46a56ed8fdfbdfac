import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

export async function tempFolder(): Promise<{ path: string } & AsyncDisposable> {
  const folder = await mkdtemp(path.join(tmpdir(), 'trainer-'));
  return { path: folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}
