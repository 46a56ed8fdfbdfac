import { durationFromMs } from '@bufbuild/protobuf/wkt';
import type { ServiceImpl } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors/errors';
import type { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { callerOf } from '../access/caller.ts';
import { operatedPart } from '../machines/part-access.ts';
import { answeredSamples, intervalOf, timedSamples } from '../machines/rules/samples.ts';
import { readSamples } from '../machines/store/samples.ts';
import { msOf } from '../rpc/protobuf-times.ts';
import type { FleetDeps } from './fleet-deps.ts';

const dayMs = 24 * 3_600_000;
/** One day of single samples. */
const mostAnswered = 1_440;
const longestDays = 31;

export const sampleHandlers = ({ db, clock }: FleetDeps) =>
  ({
    async getMachineSamples(request, context) {
      const part = await operatedPart(db, callerOf(context), request.partId);
      const until = request.until ? msOf(request.until) : clock.wall();
      const from = request.from ? msOf(request.from) : until - dayMs;
      const most = request.most || mostAnswered;
      const refuse = (field: string, value: string, limit: string) =>
        new PlatformError('INVALID_ARGUMENT', { field, value, limit });
      if (most > mostAnswered) throw refuse('most', String(most), `1 to ${mostAnswered}`);
      if (!(from < until)) throw refuse('from', new Date(from).toISOString(), 'before until');
      if (until - from > longestDays * dayMs)
        throw refuse('from', new Date(from).toISOString(), `at most ${longestDays} days before until`);
      const span = { from, until };
      const interval = intervalOf(span, most);
      const batches = await readSamples(db, part.id, span);
      return {
        samples: answeredSamples(batches.flatMap(timedSamples), span, { interval, most }),
        ...(interval !== undefined && { interval: durationFromMs(interval) }),
      };
    },
  }) satisfies Partial<ServiceImpl<typeof FleetService>>;
