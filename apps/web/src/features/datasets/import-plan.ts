import type { ImportFormat } from '@platform/dataset-files/formats';
import type { ImportPlan } from '@platform/dataset-files/planned-images';
import { useEffect, useState } from 'react';

/** What the page sends to the worker. */
export interface ImportRequest {
  files: ReadonlyMap<string, Blob>;
  format: ImportFormat;
}
export type ImportAnswer = { plan: ImportPlan } | { problem: string };

/** Plans the import of files in a worker; undefined while it reads, and without files. */
export function useImportPlan(files: ReadonlyMap<string, Blob>, format: ImportFormat): ImportAnswer | undefined {
  const [answer, setAnswer] = useState<ImportAnswer>();
  useEffect(() => {
    setAnswer(undefined);
    if (files.size === 0) return undefined;
    const worker = new Worker(new URL('import-worker.ts', import.meta.url), { type: 'module' });
    worker.addEventListener('message', ({ data }: MessageEvent<ImportAnswer>) => setAnswer(data));
    worker.addEventListener('error', ({ message }) => setAnswer({ problem: message }));
    worker.postMessage({ files, format } satisfies ImportRequest, { transfer: [] });
    return () => worker.terminate();
  }, [files, format]);
  return answer;
}
