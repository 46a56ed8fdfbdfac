import type { Severity } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { Absence, EventKind } from '@platform/contract/gen/platform/timeline/v1/timeline_pb';

/** Times in ms since 1970. */
export interface TimelineEvent {
  readonly time: number;
  readonly until?: number;
  readonly kind: EventKind;
  readonly absence?: Absence;
  readonly severity?: Severity;
  readonly text: string;
  readonly detail?: string;
  readonly actor?: string;
  readonly revision?: number;
}
