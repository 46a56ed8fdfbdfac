import type { JobSpec } from '@platform/contract/job';
import type { Clock } from './clock.ts';
import type { DevicePort } from './device.ts';
import type { Events } from './events.ts';

/** What one training is given. */
export interface Training {
  job: JobSpec;
  datasetFile: string;
  /** Becomes the model version, without tmp/. */
  outFolder: string;
  events: Events;
  clock: Clock;
  /** Of ONNX Runtime; the result depends on it in the last digits. */
  threads: number;
  signal: AbortSignal;
  /** Where the steps may run. */
  devices: DevicePort;
}
