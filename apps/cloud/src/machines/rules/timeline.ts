// The events of a machine, from rows that are stored anyway and from its last report.
import { timestampMs } from '@bufbuild/protobuf/wkt';
import {
  type AgentReport,
  type ExitReport,
  OrderState,
  type ProgramStatus,
  Severity,
  UpdateState,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { EventKind } from '@platform/contract/gen/platform/timeline/v1/timeline_pb';
import { bootReasons, textOfState, updateStates } from '@platform/contract/machine/program-states';
import { absenceEvents, type AbsenceRows } from './absence-events.ts';
import { deriveOrder, type PartOrderRow, type StoredKind } from './part-orders.ts';
import type { TimelineEvent } from './timeline-event.ts';

type RevisionRow = { revision: number; savedBy: string; savedOn: number; comment: string };
type ActionRow = { at: number; actor: string; action: string };
type RunRow = { firstSeen: number; hostname: string };

export interface TimelineRows extends AbsenceRows {
  readonly revisions: readonly RevisionRow[];
  readonly actions: readonly ActionRow[];
  readonly runs: readonly RunRow[];
  readonly orders: readonly PartOrderRow[];
}

/** What is known of the machine at one time. */
export interface TimelineFacts {
  readonly report: AgentReport | undefined;
  readonly reportedOn: number | undefined;
  /** When the machine was created. */
  readonly createdOn: number;
  /** Since when it is not heard; undefined: it is. */
  readonly lostSince: number | undefined;
  readonly uninstalledOn: number | undefined;
  readonly now: number;
}

/** The years that every program can express; a machine may report any time. */
const [firstMs, lastMs] = [Date.parse('0001-01-01T00:00:00Z'), Date.parse('9999-12-31T23:59:59Z')];
const isPossible = ({ time }: Pick<TimelineEvent, 'time'>): boolean => time >= firstMs && time <= lastMs;

/** All events of these rows and facts, newest first; the order of equal times is the same in each call. */
export function timelineEvents(rows: TimelineRows, facts: TimelineFacts): TimelineEvent[] {
  const events = [
    ...rows.revisions.map(revisionEvent),
    ...rows.actions.map(actionEvent),
    ...rows.runs.map(runEvent),
    ...rows.orders.flatMap((order) => orderEvents(order, facts.now)),
    ...reportEvents(facts),
    ...absenceEvents(rows, facts),
  ];
  return events.filter(isPossible).toSorted((a, b) => b.time - a.time || a.kind - b.kind || (a.text < b.text ? -1 : 1));
}

/** A place in the list: the time of the last event of a page, and how many of this time it had. */
export interface TimelinePlace {
  readonly time: number;
  readonly skip: number;
}

/** @param size - of the page. */
export function timelinePage(
  events: readonly TimelineEvent[],
  { after, size }: { after: TimelinePlace | undefined; size: number },
): { events: readonly TimelineEvent[]; next: TimelinePlace | undefined } {
  const left = after
    ? [
        ...events.filter(({ time }) => time === after.time).slice(after.skip),
        ...events.filter(({ time }) => time < after.time),
      ]
    : events;
  const page = left.slice(0, size);
  const last = page.at(-1);
  if (!last || left.length <= size) return { events: page, next: undefined };
  const before = last.time === after?.time ? after.skip : 0;
  return {
    events: page,
    next: { time: last.time, skip: before + page.filter(({ time }) => time === last.time).length },
  };
}

const revisionEvent = ({ revision, savedBy, savedOn, comment }: RevisionRow): TimelineEvent => ({
  time: savedOn,
  kind: EventKind.REVISION,
  text: `Revision ${revision} was saved`,
  detail: comment,
  actor: savedBy,
  revision,
});

const actionTexts: Readonly<Record<string, readonly [kind: EventKind, text: string]>> = {
  'request restart': [EventKind.ORDER, 'A restart of the machine server was ordered'],
  'order restart agent': [EventKind.ORDER, 'A restart of the agent was ordered'],
  'order reboot': [EventKind.ORDER, 'A reboot of the device was ordered'],
  'clear quarantine': [EventKind.ORDER, 'The quarantine of versions was cleared'],
  'request system upgrade': [EventKind.ORDER, 'An upgrade of the operating system was ordered'],
  'request migration': [EventKind.ORDER, 'The move to platform-agent was ordered'],
  'create machine': [EventKind.CHANGE, 'The machine was created'],
  'update machine': [EventKind.CHANGE, 'The machine was renamed or moved'],
  'tag machine': [EventKind.CHANGE, 'Its tags were changed'],
  'split machine': [EventKind.CHANGE, 'A computer that shared its credentials became another machine'],
  'create set-up code': [EventKind.CHANGE, 'A set-up code was made'],
  'redeem set-up code': [EventKind.CHANGE, 'A device redeemed its set-up code'],
  'create install key': [EventKind.CHANGE, 'An install line was made'],
  'use install key': [EventKind.CHANGE, 'A computer used its install line'],
  'reveal secrets': [EventKind.CHANGE, 'Secrets of its configuration were revealed'],
  'consent to unsigned programs': [EventKind.CHANGE, 'Unsigned programs were allowed'],
};

export const orderActions: readonly string[] = Object.entries(actionTexts).flatMap(([action, [kind]]) =>
  kind === EventKind.ORDER ? [action] : [],
);

/** The saved revisions have rows of their own. */
export const hiddenActions: readonly string[] = ['save config'];

function actionEvent({ at, actor, action }: ActionRow): TimelineEvent {
  const [kind, text] = actionTexts[action] ?? [EventKind.CHANGE, `Done: ${action}`];
  return { time: at, kind, text, actor };
}

const runEvent = ({ firstSeen, hostname }: RunRow): TimelineEvent => ({
  time: firstSeen,
  kind: EventKind.RESTART,
  text: hostname === '' ? 'The agent started' : `The agent started on ${hostname}`,
});

const orderTexts: Readonly<Record<StoredKind, string>> = {
  'restart server': 'The ordered restart of the machine server',
  'restart agent': 'The ordered restart of the agent',
  reboot: 'The ordered reboot',
};
const endings: Readonly<Partial<Record<OrderState, readonly [severity: Severity, text: string]>>> = {
  [OrderState.DONE]: [Severity.UNSPECIFIED, 'is done'],
  [OrderState.FAILED]: [Severity.ERROR, 'failed'],
  [OrderState.EXPIRED]: [Severity.WARNING, 'is void'],
};

/** How an order ended; its beginning is an action. */
function orderEvents(order: PartOrderRow, now: number): TimelineEvent[] {
  const derived = deriveOrder(order, now);
  const ending = derived && endings[derived.state];
  if (!derived || !ending) return [];
  const [severity, text] = ending;
  return [
    {
      time: derived.since,
      kind: EventKind.ORDER,
      severity,
      text: `${orderTexts[order.kind]} ${text}`,
      detail: derived.reason,
      actor: order.requestedBy,
    },
  ];
}

/** What the last report says of the past of the machine. */
function reportEvents({ report, reportedOn }: TimelineFacts): TimelineEvent[] {
  if (!report) return [];
  const conditions = report.conditions.flatMap(({ since, severity, message }): TimelineEvent[] =>
    since ? [{ time: timestampMs(since), kind: EventKind.CONDITION, severity, text: message }] : [],
  );
  return [
    ...conditions,
    ...programEvents('Agent', report.agent),
    ...programEvents('Machine server', report.server),
    ...bootEvents(report, reportedOn),
  ];
}

function bootEvents({ facts, server }: AgentReport, reportedOn: number | undefined): TimelineEvent[] {
  if (reportedOn === undefined) return [];
  const ago = (seconds: bigint | undefined): number | undefined =>
    seconds === undefined ? undefined : reportedOn - Number(seconds) * 1000;
  const booted = ago(facts?.uptime?.seconds);
  const started = server?.runningVersion ? ago(server.uptime?.seconds) : undefined;
  const reason = facts && textOfState(bootReasons, facts.bootReason);
  const isBad = reason !== undefined && reason !== bootReasons.ordered.text;
  return [
    ...(booted === undefined
      ? []
      : [
          {
            time: booted,
            kind: EventKind.RESTART,
            text: 'The device started',
            detail: reason ?? '',
            ...(isBad && { severity: Severity.WARNING }),
          },
        ]),
    ...(started === undefined
      ? []
      : [{ time: started, kind: EventKind.RESTART, text: `Machine server ${server?.runningVersion} started` }]),
  ];
}

const updateSeverities: Readonly<Partial<Record<UpdateState, Severity>>> = {
  [UpdateState.REVERTED]: Severity.ERROR,
  [UpdateState.FAILED]: Severity.ERROR,
};

function programEvents(name: string, program: ProgramStatus | undefined): TimelineEvent[] {
  if (!program) return [];
  const { lastUpdate: update, lastExit: exit } = program;
  const state = update && textOfState(updateStates, update.state);
  return [
    ...(update?.since && state
      ? [
          {
            time: timestampMs(update.since),
            kind: EventKind.UPDATE,
            severity: updateSeverities[update.state] ?? Severity.UNSPECIFIED,
            text: `${name} ${update.fromVersion === '' ? '' : `${update.fromVersion} → `}${update.version}: ${state}`,
            detail: update.reason,
          },
        ]
      : []),
    ...exitEvents(name, exit),
    ...program.quarantined.flatMap(({ version, reason, since }): TimelineEvent[] =>
      since
        ? [
            {
              time: timestampMs(since),
              kind: EventKind.UPDATE,
              severity: Severity.ERROR,
              text: `${name} ${version} was put into quarantine`,
              detail: reason,
            },
          ]
        : [],
    ),
  ];
}

const exitEvents = (name: string, exit: ExitReport | undefined): TimelineEvent[] =>
  exit?.since
    ? [
        {
          time: timestampMs(exit.since),
          kind: EventKind.RESTART,
          severity: Severity.ERROR,
          text: `${[name, exit.version].filter(Boolean).join(' ')} ended: ${exit.reason}`,
        },
      ]
    : [];
