// A sample on disk: one line of a segment.
import { isObject } from '@platform/contract/text/json-object';
import type { UnsureTime } from '../clock/device-time.ts';
import { decodeChecked, encodeChecked } from '../storage/checked-file.ts';
import type { Sample } from './sample.ts';

/** A sample with its identity: the run of the agent that took it, and its sequence in that run. */
export interface SampleRecord {
  run: string;
  sequence: number;
  sample: Sample;
  unsure?: UnsureTime;
}

const values = [
  'processorPermille',
  'memoryPermille',
  'diskPermille',
  'temperatureTenths',
  'receivedBytesPerSecond',
  'sentBytesPerSecond',
] as const satisfies readonly (keyof Sample)[];

export function encodeSample({ run, sequence, sample, unsure }: SampleRecord): Uint8Array {
  return encodeChecked({
    r: run,
    s: sequence,
    t: sample.time,
    v: values.map((name) => sample[name] ?? null),
    ...(unsure && { u: unsure }),
  });
}

/** All intact records. Skips lines that a power cut tore or that this version cannot parse. */
export function decodeSamples(bytes: Uint8Array): SampleRecord[] {
  const lines = new TextDecoder().decode(bytes).split('\n');
  return lines.flatMap((line) => recordOf(decodeChecked(new TextEncoder().encode(line))?.value) ?? []);
}

function recordOf(value: unknown): SampleRecord | undefined {
  if (!isObject(value)) return undefined;
  const { r, s, t, v, u } = value;
  if (typeof r !== 'string' || !Number.isSafeInteger(s) || !Number.isSafeInteger(t) || !Array.isArray(v))
    return undefined;
  const known = values.flatMap((name, i) => (Number.isSafeInteger(v[i]) ? [[name, v[i] as number]] : []));
  const isUnsure = isObject(u) && typeof u['run'] === 'string' && typeof u['at'] === 'number';
  return {
    run: r,
    sequence: s as number,
    sample: { time: t as number, ...Object.fromEntries(known) },
    ...(isUnsure && { unsure: { run: String(u['run']), at: Number(u['at']) } }),
  };
}
