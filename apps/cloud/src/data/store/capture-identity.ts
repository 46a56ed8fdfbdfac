import { createHash } from 'node:crypto';

/** What makes two uploads of a machine the same capture. */
export interface Capture {
  readonly partId: string | null;
  readonly componentType: string;
  readonly componentName: string;
  readonly methodName: string;
  readonly fileName: string;
  readonly timeRequestedUs: number;
  readonly sha256: string;
}

/** The order and form of the parts are stored in hashes: they never change. */
export const captureIdentity = (of: Capture, tags: readonly string[]): Buffer =>
  digest([
    of.partId,
    of.componentType,
    of.componentName,
    of.methodName,
    of.fileName,
    of.timeRequestedUs,
    tags,
    of.sha256,
  ]);

/** Of an upload whose sender named it. */
export const uploadIdentity = (partId: string | null, uploadId: string): Buffer => digest(['upload', partId, uploadId]);

const digest = (parts: readonly unknown[]): Buffer => createHash('sha256').update(JSON.stringify(parts)).digest();

/**
 * The tags that came with a capture, out of those that it has now: its identity is a hash over them, and tags that were added
 * later stand behind them. Empty where the hash proves nothing: it names an upload, or a tag was removed.
 */
export function provenCaptureTags(of: Capture, tags: readonly string[], identity: Buffer): string[] {
  for (let count = tags.length; count > 0; count--) {
    const sent = tags.slice(0, count);
    if (captureIdentity(of, sent).equals(identity)) return sent;
  }
  return [];
}
