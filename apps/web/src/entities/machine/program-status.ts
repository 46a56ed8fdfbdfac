import type { ExitReport, ProgramStatus, UpdateAttempt } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { UpdateState } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { textOfState, updateStates } from '@platform/contract/machine/program-states';
import type { RestartWaitView } from '@platform/contract/machine/restart-wait';
import { labelOf, type StatusLabel, type Tone } from '../../ui/status-label.ts';
import { bytes } from '../../ui/quantities.ts';
import { knownState } from '../../ui/server-contact.ts';
import { msOf, span, spanOf } from '../../ui/times.ts';

export interface ProgramView {
  /** "not reported" if unknown. */
  running: string;
  installed: string;
  desired: string;
  /** The version available for rollback without a download; empty: none. */
  previous: string;
  /** Undefined while it does not run, and for another product's agent, which does not report it. */
  startedAt: number | undefined;
  isRunning: boolean;
  isRestartNeeded: boolean;
  isUpdateWaiting: boolean;
  /** Why this version runs instead of the desired one; empty: it is the desired one. */
  why: string;
  /** What the installed version waits for: a part of `why`. */
  wait: RestartWaitView | undefined;
  /** Why the agent keeps the program from starting; undefined: it does not. */
  startWait: RestartWaitView | undefined;
  /** No release key signed the running version; if nothing runs, the installed one. */
  isUnsigned: boolean;
  /** The running version is signed, and the one installed for the next start is not. */
  isNextUnsigned: boolean;
  trial: TrialView | undefined;
  update: UpdateView | undefined;
  /** Newest first. */
  quarantined: readonly QuarantinedView[];
  /** The last unexpected exit; undefined: none, or it is shown with a quarantined version. */
  lastExit: ExitView | undefined;
}

export interface TrialView {
  version: string;
  previous: string;
  starts: number;
  since: number | undefined;
}

export interface UpdateView {
  version: string;
  label: StatusLabel;
  /** Downloaded fraction in 0..1, if the size is known. */
  share: number | undefined;
  /** "12 MB of 96 MB", empty without a download. */
  loaded: string;
  reason: string;
  code: string;
  since: number | undefined;
}

/** An unexpected exit of a program. */
export interface ExitView {
  /** Empty: unknown. */
  version: string;
  reason: string;
  /** Its last lines in one text; empty: it wrote nothing. */
  lines: string;
  since: number | undefined;
}

export interface QuarantinedView {
  version: string;
  /** The first characters of the file's hash; empty: unknown. */
  hash: string;
  reason: string;
  since: number | undefined;
  /** How its last start ended; absent: unknown. */
  exit?: ExitView;
}

const updateTones: Readonly<Record<number, Tone>> = {
  [UpdateState.DOWNLOADING]: 'busy',
  [UpdateState.STAGED]: 'busy',
  [UpdateState.TRYING]: 'busy',
  [UpdateState.HEALTHY]: 'good',
  [UpdateState.REVERTED]: 'bad',
  [UpdateState.FAILED]: 'bad',
  [UpdateState.SUPERSEDED]: 'quiet',
};

function updateView(update: UpdateAttempt | undefined): UpdateView | undefined {
  if (update === undefined || update.version === '') return undefined;
  const isLoading = update.state === UpdateState.DOWNLOADING;
  const isSizeKnown = update.sizeBytes > 0n;
  return {
    version: update.version,
    label: labelOf(textOfState(updateStates, update.state), updateTones[update.state]),
    share: isLoading && isSizeKnown ? Number(update.downloadedBytes) / Number(update.sizeBytes) : undefined,
    loaded: isLoading ? bytes(update.downloadedBytes) + (isSizeKnown ? ` of ${bytes(update.sizeBytes)}` : '') : '',
    reason: update.reason,
    code: update.code,
    since: msOf(update.since),
  };
}

const exitView = ({ version, reason, lines, since }: ExitReport): ExitView => ({
  version,
  reason,
  lines: lines.join('\n'),
  since: msOf(since),
});

const hex = (all: Uint8Array): string => [...all].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/** A version that waits for its first start is on no trial yet. */
export const isOnTrial = ({ trial }: ProgramView): boolean => trial !== undefined && trial.starts > 0;

/** @param pastAt - of when the report is, if it is not of now. */
export const trialLabel = (program: ProgramView, pastAt: number | undefined): StatusLabel | undefined =>
  isOnTrial(program) ? knownState({ tone: 'busy', text: 'On trial' }, pastAt !== undefined) : undefined;

/** "is on trial for 5 min (start 1 of 3)". */
export function trialText({ starts, since }: TrialView, now: number, pastAt: number | undefined): string {
  const length = since === undefined ? '' : ` for ${span((pastAt ?? now) - since)}`;
  return `${pastAt === undefined ? 'is' : 'was'} on trial${length} (start ${starts} of 3)${pastAt === undefined ? '' : ' at the last report'}`;
}

/** @param reportedOn - the time of the report, to which uptimes refer. */
export function programView(program: ProgramStatus | undefined, reportedOn: number | undefined): ProgramView {
  const uptime = spanOf(program?.uptime);
  const running = program?.runningVersion ?? '';
  const installed = program?.installedVersion ?? '';
  const desired = program?.wantedVersion ?? '';
  const trial = program?.trial;
  const quarantined = (program?.quarantined ?? []).map((one) => ({
    version: one.version,
    hash: hex(one.sha256.subarray(0, 6)),
    reason: one.reason,
    since: msOf(one.since),
    ...(one.exit && { exit: exitView(one.exit) }),
  }));
  const lastExit = program?.lastExit && exitView(program.lastExit);
  return {
    running: running || 'not reported',
    installed: installed || 'none',
    desired: desired || 'not reported',
    previous: program?.previousVersion ?? '',
    startedAt: uptime === undefined || reportedOn === undefined || running === '' ? undefined : reportedOn - uptime,
    isRunning: running !== '',
    isRestartNeeded: program?.restartNeeded ?? false,
    isUpdateWaiting:
      desired !== '' &&
      installed !== '' &&
      desired !== installed &&
      !quarantined.some((one) => one.version === desired),
    why: program?.why ?? '',
    wait: program?.wait && { reason: program.wait.reason, untilMs: msOf(program.wait.until) },
    startWait: program?.startWait && { reason: program.startWait.reason, untilMs: msOf(program.startWait.until) },
    isUnsigned: program?.unsigned ?? false,
    isNextUnsigned: (program?.installedUnsigned ?? false) && program?.unsigned === false && running !== installed,
    trial: trial && {
      version: trial.version,
      previous: trial.previousVersion,
      starts: trial.starts,
      since: msOf(trial.since),
    },
    update: updateView(program?.lastUpdate),
    quarantined,
    lastExit: quarantined.some(({ exit }) => exit?.version === lastExit?.version && exit?.since === lastExit?.since)
      ? undefined
      : lastExit,
  };
}
