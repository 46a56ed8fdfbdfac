import { create } from '@bufbuild/protobuf';
import { type Duration, DurationSchema, type Timestamp, TimestampSchema } from '@bufbuild/protobuf/wkt';

export const msOf = (time: Timestamp): number => Number(time.seconds) * 1000 + Math.floor(time.nanos / 1e6);
export const usOf = (time: Timestamp): number => Number(time.seconds) * 1e6 + Math.floor(time.nanos / 1e3);

export function timeOf(ms: number): Timestamp {
  const seconds = Math.floor(ms / 1000);
  return create(TimestampSchema, { seconds: BigInt(seconds), nanos: Math.round(ms - seconds * 1000) * 1e6 });
}
export function timeOfUs(us: number): Timestamp {
  const seconds = Math.floor(us / 1e6);
  return create(TimestampSchema, { seconds: BigInt(seconds), nanos: (us - seconds * 1e6) * 1e3 });
}

export const durationMs = (duration: Duration | undefined): number =>
  duration ? Number(duration.seconds) * 1000 + duration.nanos / 1e6 : 0;

export function durationOf(ms: number): Duration {
  const seconds = Math.floor(ms / 1000);
  return create(DurationSchema, { seconds: BigInt(seconds), nanos: Math.round((ms - seconds * 1000) * 1e6) });
}
