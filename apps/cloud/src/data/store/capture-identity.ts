import { createHash } from 'node:crypto';

/** The fields that identify a capture: two uploads with equal fields are the same capture. */
export interface Capture {
  readonly partId: string | null;
  readonly componentType: string;
  readonly componentName: string;
  readonly methodName: string;
  readonly fileName: string;
  readonly timeRequestedUs: number;
  readonly sha256: string;
}

/** Hashes with this order and format are stored, so neither may change. */
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

/** Identity of an upload to which the sender gave an ID. */
export const uploadIdentity = (partId: string | null, uploadId: string): Buffer => digest(['upload', partId, uploadId]);

const digest = (parts: readonly unknown[]): Buffer => createHash('sha256').update(JSON.stringify(parts)).digest();

/**
 * The tags that came with a capture, found by its identity: a hash over them. Later tags are appended, so they form a
 * prefix of its tags. Empty if no prefix matches: the identity is of an upload ID, or a tag was removed.
 */
export function provenCaptureTags(of: Capture, tags: readonly string[], identity: Buffer): string[] {
  for (let count = tags.length; count > 0; count--) {
    const sent = tags.slice(0, count);
    if (captureIdentity(of, sent).equals(identity)) return sent;
  }
  return [];
}
