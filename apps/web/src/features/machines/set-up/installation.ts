import { ConfigState, InstallStepKind, OnlineState } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { GetInstallationResponse, Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { configStatusText } from '@platform/contract/config/status';
import { msOf } from '../../../ui/times.ts';

/** `unreported`: a later step shows that it happened, and no one reported when. */
export type StepState = 'done' | 'running' | 'failed' | 'waiting' | 'unreported';

/** One step of a machine on its way into the fleet. Times in ms since 1970. */
export interface StepView {
  name: string;
  state: StepState;
  /** When the installer, the server or the agent measured it. */
  time: number | undefined;
  /** What was measured, or why it failed; empty: nothing more. */
  detail: string;
}

export interface InstallationView {
  steps: StepView[];
  /** When the installer started; undefined: it has not, or it does not report. */
  startedAt: number | undefined;
  isOnline: boolean;
  /** There is more to see than that nothing has happened. */
  hasBegun: boolean;
  /** The machine was online before its line was used, or without one. */
  isOlder: boolean;
  /** A computer was refused: another one had used the line, or its time was over. */
  refused: { time: number; address: string } | undefined;
  /** It has its credentials, and did not connect for a minute. */
  isSilent: boolean;
}

const silentMs = 60_000;

/** @param installation - of the newest line; undefined: not loaded yet. @param now - ms since 1970 */
export function installationView(
  installation: Pick<GetInstallationResponse, 'createdOn' | 'usedOn' | 'reportedOn' | 'steps'> | undefined,
  machine: Pick<Machine, 'onlineState' | 'lastSeen' | 'reportedOn' | 'configStatus'>,
  now: number,
): InstallationView {
  const found = (kind: InstallStepKind) => installation?.steps.find((step) => step.kind === kind);
  const [started, failed, refused] = [InstallStepKind.STARTED, InstallStepKind.FAILED, InstallStepKind.REFUSED].map(
    found,
  );
  const usedOn = msOf(installation?.usedOn);
  const reportedOn = msOf(installation?.reportedOn);
  const isOnline = machine.onlineState === OnlineState.ONLINE;
  const isOlder = isOnline && started === undefined && usedOn === undefined;

  const steps: StepView[] = installerSteps.map(({ name, kind }) => {
    const step = found(kind);
    return { name, state: step ? 'done' : 'waiting', time: msOf(step?.time), detail: step?.detail ?? '' };
  });
  const seen = reportedOn ?? (isOnline ? msOf(machine.reportedOn) : undefined);
  steps.push({
    name: 'Online',
    state: isOnline ? 'done' : 'waiting',
    time: isOnline ? seen : undefined,
    detail: isOnline ? 'The agent has sent its report' : '',
  });
  steps.push(configuredStep(machine, isOnline));

  const last = steps.findLastIndex(({ state }) => state === 'done');
  const marked = steps.map((step, at) =>
    step.state === 'waiting' && at < last ? { ...step, state: 'unreported' as const } : step,
  );
  const next = marked.findIndex(({ state }) => state === 'waiting');
  const current = marked[next];
  if (current && current.name !== 'Configured') {
    if (failed) Object.assign(current, { state: 'failed', time: msOf(failed.time), detail: sentence(failed.detail) });
    else if (started || usedOn !== undefined)
      Object.assign(current, { state: 'running', detail: runningText(current.name, usedOn !== undefined) });
  }
  const isWaitingForContact = !isOnline && !failed && usedOn !== undefined && now - usedOn > silentMs;
  return {
    steps: marked,
    startedAt: msOf(started?.time),
    isOnline,
    hasBegun: marked.some(({ state }) => state !== 'waiting'),
    isOlder,
    refused: refused && { time: msOf(refused.time) ?? 0, address: refused.address },
    isSilent: isWaitingForContact && found(InstallStepKind.INSTALLED) !== undefined,
  };
}

const installerSteps = [
  { name: 'Downloaded', kind: InstallStepKind.DOWNLOADED },
  { name: 'Verified', kind: InstallStepKind.VERIFIED },
  { name: 'Installed', kind: InstallStepKind.INSTALLED },
] as const;

function runningText(name: string, isUsed: boolean): string {
  if (name === 'Online') return 'Waiting for the first report of the agent';
  if (name === 'Installed') return isUsed ? 'It has fetched its credentials' : 'The installer is working';
  return 'The installer is working';
}

function configuredStep({ configStatus }: Pick<Machine, 'configStatus'>, isOnline: boolean): StepView {
  const state = configStatus?.state ?? ConfigState.UNSPECIFIED;
  const time = msOf(configStatus?.measuredOn);
  const name = 'Configured';
  if (state === ConfigState.IN_EFFECT || state === ConfigState.PARTLY_IN_EFFECT)
    return { name, state: 'done', time, detail: sentence(configStatusText(configStatus)) };
  if (isOnline && state === ConfigState.NONE_SAVED)
    return { name, state: 'waiting', time: undefined, detail: 'Nothing is saved yet, the defaults hold' };
  if (!isOnline || state === ConfigState.UNSPECIFIED) return { name, state: 'waiting', time: undefined, detail: '' };
  const detail = sentence(configStatusText(configStatus));
  return { name, state: state === ConfigState.NOT_IN_EFFECT ? 'failed' : 'running', time, detail };
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
