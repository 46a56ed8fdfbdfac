/** Reads the chosen files beside the page, which stays usable. */
import { planImport } from '@platform/dataset-files/plan';
import { fileSource } from './file-source.ts';
import type { ImportAnswer, ImportRequest } from './import-plan.ts';

const answer = (message: ImportAnswer): void => self.postMessage(message, { transfer: [] });

self.addEventListener('message', ({ data }: MessageEvent<ImportRequest>) => {
  planImport(fileSource(data.files), { format: data.format }).then(
    (plan) => answer({ plan }),
    (error: unknown) => answer({ problem: error instanceof Error ? error.message : String(error) }),
  );
});
