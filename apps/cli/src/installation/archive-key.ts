// The pinned key of the archives, beside the settings of the installed server.
import { rmSync } from 'node:fs';

import path from 'node:path';
import { readPem } from '@platform/kit/node';
import { readArchiveKey } from '@platform/releases/archive-signature';
import { places } from './places.ts';
import { writeIfOther } from './server-options.ts';

const file = path.join(places.settings, 'archive-key.pem');

/** @throws PlatformError SIGNING_KEY_UNREADABLE */
export async function readPinnedKey(): Promise<string | undefined> {
  const pem = await readPem(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  return pem === undefined ? undefined : readArchiveKey(pem, file);
}

/** @param key - undefined: no key is pinned from now on. */
export async function pinKey(key: string | undefined): Promise<void> {
  if (key === undefined) rmSync(file, { force: true });
  else await writeIfOther(file, key, { mode: 0o644 });
}
