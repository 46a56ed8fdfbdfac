import type { Cell, Clock, Log } from '@platform/kit';
import type { Device, Disk, FileSystem } from '../os/ports.ts';
import type { Actual, Wanted } from '../state/state.ts';
import type { ConditionSet } from './condition-set.ts';

/** What the features of the agent share. Each names the members that it needs: `Pick<Context, 'clock' | 'log'>`. */
export interface Context {
  device: Device;
  disk: Disk;
  files: FileSystem;
  /** Folder of the agent. */
  root: string;
  wanted: Cell<Wanted>;
  actual: Cell<Actual>;
  /** Whether the management server answers. */
  isReached: Cell<boolean>;
  conditions: ConditionSet;
  clock: Clock;
  log: Log;
  random: () => number;
}
