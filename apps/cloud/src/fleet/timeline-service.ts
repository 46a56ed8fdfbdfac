import type { ConnectRouter } from '@connectrpc/connect';
import { Severity } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { Absence, TimelineService } from '@platform/contract/gen/platform/timeline/v1/timeline_pb';
import { callerOf } from '../access/caller.ts';
import { operatedPart } from '../machines/part-access.ts';
import { reportOf } from '../machines/rules/machine-facts.ts';
import { isUninstalled } from '../machines/rules/online.ts';
import { type TimelineFacts, timelineEvents, timelinePage } from '../machines/rules/timeline.ts';
import type { TimelineEvent } from '../machines/rules/timeline-event.ts';
import type { PartRow } from '../machines/store/machines.ts';
import { readTimelineRows } from '../machines/store/timeline.ts';
import { timeOf } from '../rpc/protobuf-times.ts';
import { readTimelineToken, timelineToken } from '../rpc/rules/page-tokens.ts';
import type { FleetDeps } from './fleet-deps.ts';
import { invalidArgument } from '../rpc/rules/invalid-argument.ts';

const defaultPage = 50;
const largestPage = 200;
/** Characters of a text that a machine reported. */
const longestText = 500;

type TimelineDeps = Pick<FleetDeps, 'db' | 'clock' | 'presence'>;

export const timelineRoutes =
  (deps: TimelineDeps) =>
  (router: ConnectRouter): void => {
    router.service(TimelineService, {
      async listMachineEvents({ partId, kinds, pageSize, pageToken }, context) {
        const { db, clock } = deps;
        const part = await operatedPart(db, callerOf(context), partId);
        if (pageSize > largestPage) throw invalidArgument('page_size', pageSize, `0 to ${largestPage}`);
        const size = pageSize || defaultPage;
        const after = readTimelineToken(pageToken);
        const now = clock.wall();
        const rows = await readTimelineRows(db, {
          partId: part.id,
          machineId: part.machineId,
          isMain: part.isMain,
          until: after?.time ?? now,
          now,
          kinds,
          limit: size + (after?.skip ?? 0) + 1,
        });
        const all = timelineEvents(rows, factsOf(deps, part));
        const asked = kinds.length === 0 ? all : all.filter(({ kind }) => kinds.includes(kind));
        const { events, next } = timelinePage(asked, { after, size });
        return { events: events.map(eventMessage), nextPageToken: next ? timelineToken(next) : '' };
      },
    });
  };

function factsOf({ presence, clock }: TimelineDeps, part: PartRow): TimelineFacts {
  const lastSeen = presence.lastSeen(part.id, part.lastSeen);
  const isOnline = presence.online(part.id, part.lastSeen) === 'online';
  const isGone = isUninstalled(part.uninstalledOn, lastSeen);
  return {
    report: reportOf(part),
    reportedOn: part.reportedOn ?? undefined,
    createdOn: part.machineCreatedOn,
    lostSince: isOnline ? undefined : lastSeen,
    uninstalledOn: isGone ? (part.uninstalledOn ?? undefined) : undefined,
    now: clock.wall(),
  };
}

const eventMessage = ({ time, until, kind, absence, severity, text, detail, actor, revision }: TimelineEvent) => ({
  time: timeOf(time),
  ...(until !== undefined && { until: timeOf(until) }),
  kind,
  absence: absence ?? Absence.UNSPECIFIED,
  severity: severity ?? Severity.UNSPECIFIED,
  text: text.slice(0, longestText),
  detail: (detail ?? '').slice(0, longestText),
  actor: actor ?? '',
  revision: BigInt(revision ?? 0),
});
