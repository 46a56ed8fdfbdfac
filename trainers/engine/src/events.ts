import { closeSync, openSync, writeSync } from 'node:fs';
import type { JobEvent, JobEventBody } from '@platform/contract/job/job';
import type { Clock } from './clock.ts';

/** Sink for the trainer's events. */
export interface Events {
  emit(event: JobEventBody): void;
  close(): void;
}

/** Appends one JSON object per line; `emit` returns after the whole line is written. */
export function eventFile(path: string, clock: Clock): Events {
  const file = openSync(path, 'a');
  let sequence = 0;
  return {
    emit: (event) => {
      sequence++;
      const line: JobEvent = { sequence, time: clock.instant(), ...event };
      writeSync(file, `${JSON.stringify(line)}\n`);
    },
    close: () => closeSync(file),
  };
}
