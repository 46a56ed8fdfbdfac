import { PlatformError } from '@platform/contract/errors/errors';
import { create } from '@bufbuild/protobuf';
import { type Duration, DurationSchema, type Timestamp, TimestampSchema } from '@bufbuild/protobuf/wkt';

/** The years 1 to 9999, as protobuf defines them. Values far outside fit neither PostgreSQL nor `Date`. */
const range = { first: -62_135_596_800n, last: 253_402_300_799n };
const firstMs = Number(range.first) * 1e3;
const lastMs = Number(range.last) * 1e3 + 999;
const firstUs = Number(range.first) * 1e6;
/** Numbers of this size are exact to 32 µs; the next one is in the year 10000, which JSON cannot express. */
const lastUs = 253_402_300_799_999_968;

export const isTime = ({ seconds, nanos }: Timestamp): boolean =>
  seconds >= range.first && seconds <= range.last && nanos >= 0 && nanos < 1e9;

function checked(time: Timestamp): Timestamp {
  if (isTime(time)) return time;
  const value = `${time.seconds} s ${time.nanos} ns`;
  throw new PlatformError('INVALID_ARGUMENT', { field: 'timestamp', value, limit: 'the years 1 to 9999' });
}

/** ms since 1970. @throws PlatformError INVALID_ARGUMENT outside of the years 1 to 9999. */
export const msOf = (time: Timestamp): number => Number(checked(time).seconds) * 1000 + Math.floor(time.nanos / 1e6);
/** µs since 1970; throws like `msOf`. */
export const microsecondsOf = (time: Timestamp): number =>
  Math.min(Number(checked(time).seconds) * 1e6 + Math.floor(time.nanos / 1e3), lastUs);

/** Times outside of the years 1 to 9999 become the first or the last one, because JSON cannot express them. */
export function timeOf(wantedMs: number): Timestamp {
  const ms = Math.min(Math.max(wantedMs, firstMs), lastMs);
  const seconds = Math.floor(ms / 1000);
  return create(TimestampSchema, { seconds: BigInt(seconds), nanos: Math.round(ms - seconds * 1000) * 1e6 });
}
/** Like `timeOf`, from µs. */
export function timeOfUs(wantedUs: number): Timestamp {
  const us = Math.min(Math.max(wantedUs, firstUs), lastUs);
  const seconds = Math.floor(us / 1e6);
  return create(TimestampSchema, { seconds: BigInt(seconds), nanos: (us - seconds * 1e6) * 1e3 });
}

export const durationMs = (duration: Duration | undefined): number =>
  duration ? Number(duration.seconds) * 1000 + duration.nanos / 1e6 : 0;

export function durationOf(ms: number): Duration {
  const seconds = Math.floor(ms / 1000);
  return create(DurationSchema, { seconds: BigInt(seconds), nanos: Math.round((ms - seconds * 1000) * 1e6) });
}
