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
