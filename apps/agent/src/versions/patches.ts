import { applyPatch } from '@platform/kit/node';
import type { FileSystem } from '../os/ports.ts';
import type { Patches } from './fetch-ports.ts';

/** VCDIFF patches of files below the root. */
export const vcdiffPatches = (files: FileSystem): Patches => ({
  async apply({ source, patch, limitBytes }, write) {
    const file = await files.openRead(source);
    try {
      await applyPatch({ patch, source: (at, length) => file.read(at, length), write, limitBytes });
    } finally {
      await file.close();
    }
  },
});
