import type { JobSpec } from '@platform/contract/job/job';
import type { Clock } from './clock.ts';
import type { DevicePort } from './device.ts';
import type { Events } from './events.ts';

/** Input of one training run. */
export interface Training {
  job: JobSpec;
  datasetFile: string;
  /** Its content, without tmp/, becomes the model version. */
  outFolder: string;
  events: Events;
  clock: Clock;
  /** Threads of ONNX Runtime; they affect the last digits of the result. */
  threads: number;
  signal: AbortSignal;
  /** Devices for the training steps. */
  devices: DevicePort;
}
