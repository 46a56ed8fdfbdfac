import { readRecord, recordText, type UploadRecord } from './upload-record.ts';

const keyOf = (datasetId: string): string => `upload ${datasetId}`;
/** Images between two writes; after a crash these are sent again, and the server merges them. */
const writeEvery = 25;

/** The upload into a dataset that did not end; undefined: there is none. */
export const unfinishedUpload = (datasetId: string): UploadRecord | undefined =>
  readRecord(localStorage.getItem(keyOf(datasetId)));

/** Records what an upload has sent. */
export function recordUpload(datasetId: string, total: number, before: ReadonlySet<string>) {
  const done = new Set(before);
  const write = (): void => {
    try {
      localStorage.setItem(keyOf(datasetId), recordText({ total, done }));
    } catch {
      // The storage is full: after a reload all images are sent again, and the server merges them.
    }
  };
  return {
    add(key: string): void {
      done.add(key);
      if (done.size % writeEvery === 0) write();
    },
    /** The upload stops before its end. */
    keep: write,
    end: (): void => localStorage.removeItem(keyOf(datasetId)),
  };
}
