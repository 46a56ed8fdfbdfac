import { numberInEffect } from '@platform/contract/config/status';
import { isReportPast } from '@platform/contract/machine/report-age';
import { serverStates, textOfState, updateStates } from '@platform/contract/machine/program-states';
import { withTimeLeft } from '@platform/contract/machine/restart-wait';
import { formatBytes, formatDuration } from '@platform/kit';
import {
  type Condition,
  type ExitReport,
  type Machine,
  OnlineStateSchema,
  type ProgramStatus,
  ServerState,
  ServerStateSchema,
  SeveritySchema,
  type UpdateAttempt,
  UpdateState,
  UpdateStateSchema,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { ago, enumName, enumWord, isoTime, listText, percentText, printable } from '../output.ts';
import { networkJson, networkText } from './network.ts';
import { factsJson, factsText } from './facts.ts';
import { ordersJson, ordersText } from './orders.ts';
import { sharedIdentityJson } from './shared-identity.ts';
import { systemJson, systemText } from './system.ts';
import { configStatusJson, configText, sliceJson, slicesText } from './slices.ts';

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

const joined = (...words: (string | false)[]): string => words.filter(Boolean).join(', ');

const exitJson = (exit: ExitReport | undefined): Record<string, unknown> | null =>
  exit ? { version: exit.version, reason: exit.reason, lines: exit.lines, since: isoTime(exit.since) } : null;

/** The exit of a program, followed by its last log lines. */
const exitText = (exit: ExitReport, nowMs: number): string =>
  [joined(exit.version, ago(exit.since, nowMs), exit.reason), ...exit.lines.map((line) => `  | ${line}`)].join('\n');

/** One program's status, with the names of `platform-agent status --json`. */
function programJson(program: ProgramStatus | undefined): Record<string, unknown> {
  const { trial, lastUpdate: last } = program ?? {};
  return {
    running: program?.runningVersion ?? '',
    installed: program?.installedVersion ?? '',
    wanted: program?.wantedVersion ?? '',
    previous: program?.previousVersion ?? '',
    restart_needed: program?.restartNeeded ?? false,
    trial: trial
      ? {
          version: trial.version,
          previous: trial.previousVersion,
          starts: trial.starts,
          since: isoTime(trial.since),
        }
      : null,
    ...(program?.startWait && {
      start_wait: { reason: program.startWait.reason, until: isoTime(program.startWait.until) },
    }),
    quarantined: (program?.quarantined ?? []).map((one) => ({
      version: one.version,
      sha256: hex(one.sha256),
      reason: one.reason,
      since: isoTime(one.since),
      exit: exitJson(one.exit),
    })),
    last_exit: exitJson(program?.lastExit),
    last_update: last
      ? {
          version: last.version,
          from: last.fromVersion,
          state: enumName(UpdateStateSchema, last.state),
          code: last.code,
          reason: last.reason,
          since: isoTime(last.since),
          downloaded_bytes: Number(last.downloadedBytes),
          size_bytes: Number(last.sizeBytes),
          by_delta: last.byDelta,
        }
      : null,
    why: program?.why ?? '',
    wait: program?.wait ? { reason: program.wait.reason, until: isoTime(program.wait.until) } : null,
    is_unsigned: program?.unsigned ?? false,
    is_installed_unsigned: program?.installedUnsigned ?? false,
  };
}

/** Conditions from the machine and from the management server, the most severe first. */
const conditionsOf = ({ report, conditions }: Machine): Condition[] =>
  [...conditions, ...(report?.conditions ?? [])].toSorted((a, b) => b.severity - a.severity);

/** The machine as JSON with its wire names; enums by name. */
export function machineJson(machine: Machine): Record<string, unknown> {
  const { report } = machine;
  return {
    machine_id: machine.id,
    part_id: machine.partId,
    name: machine.name,
    organization_id: machine.organizationId,
    location_id: machine.locationId,
    tags: machine.tags,
    online_state: enumWord(OnlineStateSchema, machine.onlineState),
    last_seen: isoTime(machine.lastSeen),
    is_report_past: isReportPast(machine),
    uninstalled_on: isoTime(machine.uninstalledOn),
    shared_identity: sharedIdentityJson(machine.sharedIdentity),
    wanted_revision: Number(machine.wantedRevision),
    applied_revision: Number(numberInEffect(machine.configStatus)),
    config_status: configStatusJson(machine.configStatus),
    slices: (report?.slices ?? []).map(sliceJson),
    agent_version: report?.agent?.runningVersion ?? '',
    server_version: report?.server?.runningVersion ?? '',
    server_state: enumWord(ServerStateSchema, report?.serverState),
    restart_needed: report?.server?.restartNeeded ?? false,
    has_other_agent: machine.hasOtherAgent,
    migration_requested_on: isoTime(machine.migrationRequestedOn),
    restart_requested_on: isoTime(machine.restartRequestedOn),
    last_exit: report?.lastExit ?? '',
    restarts: report?.restarts ?? 0,
    reported_on: isoTime(machine.reportedOn),
    quarantine_cleared_on: isoTime(machine.quarantineClearedOn),
    network: networkJson(machine),
    system: systemJson(machine),
    facts: factsJson(machine),
    orders: ordersJson(machine),
    programs: { agent: programJson(report?.agent), server: programJson(report?.server) },
    conditions: conditionsOf(machine).map((one) => ({
      code: one.code,
      severity: enumWord(SeveritySchema, one.severity),
      message: one.message,
      remedy: one.remedy,
      since: isoTime(one.since),
      path: one.path,
    })),
  };
}

/** "1.4.0: downloading 12.0 MB of 96.1 MB (12.5 %), 3 s ago". */
function updateText(update: UpdateAttempt, nowMs: number): string {
  const [loaded, whole] = [Number(update.downloadedBytes), Number(update.sizeBytes)];
  const progress =
    whole > 0
      ? ` ${formatBytes(loaded)} of ${formatBytes(whole)} (${percentText(loaded / whole)})`
      : ` ${formatBytes(loaded)}`;
  const state = textOfState(updateStates, update.state) ?? 'not reported';
  return joined(
    `${update.version}: ${state}${update.state === UpdateState.DOWNLOADING ? progress : ''}${update.byDelta ? ' by a patch' : ''}`,
    update.fromVersion !== '' && `before it ${update.fromVersion}`,
    ago(update.since, nowMs),
    update.reason !== '' && `${update.reason}${update.code === '' ? '' : ` (${update.code})`}`,
  );
}

function signedText(program: ProgramStatus | undefined): string {
  const { runningVersion: running = '', installedVersion: installed = '', unsigned, installedUnsigned } = program ?? {};
  if (unsigned) return `no: no release key signed the ${running === '' ? 'installed' : 'running'} file`;
  return installedUnsigned && running !== installed
    ? 'the running file yes, the installed one no: no release key signed it'
    : '';
}

/** Why a version runs, with the time left until a waiting one may start. */
function whyText({ why = '', wait }: Partial<ProgramStatus> = {}, nowMs: number): string {
  if (!wait?.until) return why;
  return withTimeLeft(why, { reason: wait.reason, untilMs: Number(wait.until.seconds) * 1000 }, nowMs, (ms) =>
    formatDuration(ms / 1000),
  );
}

const isSameExit = (a: ExitReport | undefined, b: ExitReport): boolean =>
  a !== undefined && a.version === b.version && isoTime(a.since) === isoTime(b.since);

interface ProgramContext {
  readonly title: string;
  /** What is not of the program alone. */
  readonly first: string;
  readonly isPast: boolean;
}

function programText(program: ProgramStatus | undefined, of: ProgramContext, nowMs: number): string {
  const { trial, lastExit, lastUpdate: last } = program ?? {};
  const quarantined = program?.quarantined ?? [];
  const entries: [string, string][] = [
    [
      of.title,
      joined(
        program?.runningVersion ? `${program.runningVersion} ${of.isPast ? 'ran' : 'runs'}` : 'no version reported',
        of.first,
      ),
    ],
    ['  installed', joined(program?.installedVersion || '-', !!program?.restartNeeded && 'used after a restart')],
    ['  wanted', program?.wantedVersion || '-'],
    ['  previous', program?.previousVersion ?? ''],
    ['  why', whyText(program, nowMs)],
    ['  signed', signedText(program)],
    [
      '  on trial',
      trial && trial.starts > 0
        ? `${of.isPast ? 'at its last report: ' : ''}${trial.version}, start ${trial.starts} of 3, since ${ago(trial.since, nowMs)}; ${trial.previousVersion} comes back if it fails`
        : '',
    ],
    [
      '  not started',
      trial?.starts === 0
        ? `${trial.version}; from its first start on, it is on trial, and ${trial.previousVersion} comes back if it fails`
        : '',
    ],
    ['  start', program?.startWait ? `it waits: ${program.startWait.reason}` : ''],
    ['  update', last ? updateText(last, nowMs) : ''],
    [
      '  quarantined',
      quarantined
        .map((one) =>
          [
            joined(
              `${one.version}${one.sha256.length > 0 ? ` (${hex(one.sha256).slice(0, 12)})` : ''}`,
              ago(one.since, nowMs),
              one.reason,
            ),
            ...(one.exit ? [`ended: ${exitText(one.exit, nowMs)}`] : []),
          ].join('\n'),
        )
        .join('\n'),
    ],
    // Do not repeat an exit that a quarantined version already shows.
    [
      '  last end',
      lastExit && !quarantined.some((one) => isSameExit(one.exit, lastExit)) ? exitText(lastExit, nowMs) : '',
    ],
  ];
  return listText(entries);
}

/** The state as one word, and whether several computers share the machine. */
const stateText = ({ uninstalledOn, onlineState, sharedIdentity }: Machine): string =>
  joined(
    uninstalledOn ? 'uninstalled' : enumWord(OnlineStateSchema, onlineState),
    sharedIdentity !== undefined && 'shared identity',
  );

/** Its row in a list. A state of before is not shown as one of now. */
export const machineRow = (machine: Machine, nowMs: number): string[] => {
  const { report } = machine;
  const state = enumWord(ServerStateSchema, report?.serverState);
  return [
    machine.name,
    stateText(machine),
    isReportPast(machine) ? `was ${state}` : state,
    report?.agent?.runningVersion ?? '',
    report?.server?.runningVersion ?? '',
    `${numberInEffect(machine.configStatus) || '?'}/${machine.wantedRevision}`,
    ago(machine.lastSeen, nowMs),
    machine.tags.join(' '),
    machine.id,
  ];
};

/** The path in the configuration, unless the message contains it. */
const placeText = ({ path, message }: Condition): string =>
  path === '' || message.includes(path) ? '' : `${printable(path)}: `;

const conditionText = (one: Condition, nowMs: number): string =>
  `${enumWord(SeveritySchema, one.severity)} ${one.code}${one.since ? `, ${ago(one.since, nowMs)}` : ''}: ${placeText(one)}${printable(one.message)}\n  ${printable(one.remedy)}`;

/**
 * The full status of a machine for users; never truncated.
 *
 * @param used - what it used last; empty: not reported.
 */
export function machineText(machine: Machine, nowMs: number, used = ''): string {
  const { report } = machine;
  const about = listText([
    ['machine', joined(machine.name, machine.locationName)],
    ['tags', machine.tags.join(' ')],
    [
      'state',
      joined(
        stateText(machine),
        machine.uninstalledOn === undefined && isReportPast(machine) && 'below is its last report',
        machine.uninstalledOn !== undefined &&
          `on ${isoTime(machine.uninstalledOn)}, ${ago(machine.uninstalledOn, nowMs)}; below is its last report`,
        machine.lastSeen !== undefined && `seen ${ago(machine.lastSeen, nowMs)}`,
      ),
    ],
    ['host', joined(report?.hostname ?? '', report?.os ?? '', report?.platform ?? '')],
    ['network', networkText(machine, nowMs)],
    ['facts', [factsText(machine), used].filter(Boolean).join('\n')],
    ['system', systemText(machine, nowMs)],
    ['config', configText(machine, nowMs)],
    ['  but', slicesText(machine, nowMs)],
    ['orders', ordersText(machine, nowMs)],
    ['reported', ago(machine.reportedOn, nowMs)],
    ['machine id', machine.id],
    ['part id', machine.partId],
  ]);
  const restart = machine.restartRequestedOn ? `restart asked for ${ago(machine.restartRequestedOn, nowMs)}` : '';
  const migration = machine.migrationRequestedOn
    ? `move to platform-agent asked for ${ago(machine.migrationRequestedOn, nowMs)}`
    : '';
  const ofAgent = joined(
    machine.hasOtherAgent && "another product's agent",
    !!report && !report.supervisedBySystemd && 'not supervised by systemd',
    migration,
  );
  const agent = programText(report?.agent, { title: 'agent', first: ofAgent, isPast: isReportPast(machine) }, nowMs);
  const ofServer = joined(
    // The version line already shows that it runs.
    report?.serverState === ServerState.RUNNING || machine.hasOtherAgent
      ? ''
      : `${isReportPast(machine) ? 'at its last report: ' : ''}${textOfState(serverStates, report?.serverState) ?? 'not reported'}`,
    (report?.restarts ?? 0) > 0 && `${report?.restarts} restarts`,
    !!report?.lastExit && `last end: ${report.lastExit}`,
    restart,
  );
  const server = programText(
    report?.server,
    { title: 'server', first: ofServer, isPast: isReportPast(machine) },
    nowMs,
  );
  const isHeld = [report?.agent, report?.server].some((program) => (program?.quarantined.length ?? 0) > 0);
  const cleared = machine.quarantineClearedOn
    ? `The quarantine was cleared ${ago(machine.quarantineClearedOn, nowMs)}; the machine takes it over when it reports next.`
    : isHeld
      ? `Quarantined versions are not tried again until the configuration names another one, or: platform machine clear-quarantine ${machine.name}`
      : '';
  const conditions = conditionsOf(machine).map((one) => conditionText(one, nowMs));
  return [about, agent, server, printable(cleared), ...conditions].filter(Boolean).join('\n\n');
}
