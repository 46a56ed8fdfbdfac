import type { MessageInitShape } from '@bufbuild/protobuf';
import type { SampleBatchSchema } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { Clock } from '@platform/kit';
import type { DeviceTime } from '../clock/device-time.ts';
import type { SampleRecord } from './sample-record.ts';
import type { SampleSpool, WaitingSamples } from './sample-spool.ts';

/** Fewer, larger requests cost fewer bytes; a user sees samples of the last minutes. */
const sendEveryMs = 5 * 60_000;
/** About 6 KB. */
const mostAtOnce = 200;

interface SampleBatch {
  readonly message: MessageInitShape<typeof SampleBatchSchema>;
  /** To be called when the server has answered the request with them. */
  accepted(): Promise<void>;
}

/** Samples that go with the next config check. */
export class SampleSender {
  readonly #spool: SampleSpool;
  readonly #time: Pick<DeviceTime, 'timeOf'>;
  readonly #clock: Clock;
  #sentAt = -Infinity;

  constructor({ spool, time, clock }: { spool: SampleSpool; time: Pick<DeviceTime, 'timeOf'>; clock: Clock }) {
    this.#spool = spool;
    this.#time = time;
    this.#clock = clock;
  }

  /** Undefined: none are due. */
  next(): SampleBatch | undefined {
    const isDue = this.#spool.waiting >= mostAtOnce || this.#clock.now() - this.#sentAt >= sendEveryMs;
    const waiting = isDue ? this.#spool.next(mostAtOnce) : undefined;
    if (!waiting) return undefined;
    return {
      message: batchOf(waiting, this.#time),
      accepted: () => {
        this.#sentAt = this.#clock.now();
        return this.#spool.sent(waiting);
      },
    };
  }
}

function batchOf(
  { run, records }: WaitingSamples,
  time: Pick<DeviceTime, 'timeOf'>,
): MessageInitShape<typeof SampleBatchSchema> {
  const timed = records.map(({ sample, unsure }) => {
    const found = time.timeOf({ time: sample.time, ...(unsure && { unsure }) });
    return { sample, second: Math.max(0, Math.floor(found.time / 1000)), isEstimated: found.isEstimated };
  });
  const start = Math.min(...timed.map(({ second }) => second));
  return {
    spoolId: run,
    firstSequence: BigInt(records[0]?.sequence ?? 0),
    start: BigInt(start),
    samples: timed.map(({ sample, second, isEstimated }) => ({
      ...messageOf(sample),
      seconds: Math.min(second - start, 0xffff_ffff),
      timeEstimated: isEstimated,
    })),
  };
}

function messageOf({
  receivedBytesPerSecond: received,
  sentBytesPerSecond: sent,
  processorPermille,
  memoryPermille,
  diskPermille,
  temperatureTenths,
}: SampleRecord['sample']) {
  return {
    ...(processorPermille !== undefined && { processorPermille }),
    ...(memoryPermille !== undefined && { memoryPermille }),
    ...(diskPermille !== undefined && { diskPermille }),
    ...(temperatureTenths !== undefined && { temperatureTenths }),
    ...(received !== undefined && { receivedBytesPerSecond: BigInt(received) }),
    ...(sent !== undefined && { sentBytesPerSecond: BigInt(sent) }),
  };
}
