import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { noticedCondition } from './noticed-condition.ts';

/** The condition clears after this time without such a line or sample. */
export const repeatedQuietMs = 24 * 3_600_000;

interface Repeated {
  repeatedLines: number;
  repeatedLinesOn: number | null;
  repeatedSamples: number;
  repeatedSamplesOn: number | null;
}

/**
 * Log lines or samples of this machine came under the identity of others. They are stored, each under an identity of
 * its own.
 */
export function repeatedLinesCondition(of: Repeated, nowMs: number) {
  const recent = [
    { number: Number(of.repeatedLines), on: of.repeatedLinesOn, one: 'log line' },
    { number: Number(of.repeatedSamples), on: of.repeatedSamplesOn, one: 'sample' },
  ].flatMap(({ on, ...rest }) => (on !== null && nowMs - on < repeatedQuietMs ? [{ ...rest, on }] : []));
  if (recent.length === 0) return [];
  const last = Math.max(...recent.map(({ on }) => on));
  const count = recent.map(({ number, one }) => `${number} ${one}${number === 1 ? '' : 's'}`).join(' and ');
  const condition = noticedCondition('SPOOL_REPEATED', {
    count,
    last: new Date(last).toISOString(),
    hours: repeatedQuietMs / 3_600_000,
  });
  return [{ ...condition, since: timestampFromMs(last) }];
}
