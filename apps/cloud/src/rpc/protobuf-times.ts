import { PlatformError } from '@platform/contract/errors';
import { create } from '@bufbuild/protobuf';
import { type Duration, DurationSchema, type Timestamp, TimestampSchema } from '@bufbuild/protobuf/wkt';

/** The years 1 to 9999, as protobuf defines them. Values far outside fit neither PostgreSQL nor `Date`. */
const range = { first: -62_135_596_800n, last: 253_402_300_799n };

function checked(time: Timestamp): Timestamp {
  if (time.seconds >= range.first && time.seconds <= range.last && time.nanos >= 0 && time.nanos < 1e9) return time;
  const value = `${time.seconds} s ${time.nanos} ns`;
  throw new PlatformError('INVALID_ARGUMENT', { field: 'timestamp', value, limit: 'the years 1 to 9999' });
}

/** ms since 1970. @throws PlatformError INVALID_ARGUMENT outside of the years 1 to 9999. */
export const msOf = (time: Timestamp): number => Number(checked(time).seconds) * 1000 + Math.floor(time.nanos / 1e6);
/** µs since 1970; throws like `msOf`. */
export const usOf = (time: Timestamp): number => Number(checked(time).seconds) * 1e6 + Math.floor(time.nanos / 1e3);

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
