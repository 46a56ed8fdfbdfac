import { errorText, type Cell, within, type Clock, type Log } from '@platform/kit';
import { PlatformError, type ErrorCode } from '@platform/contract/errors';
import { clearCondition, setCondition, type ConditionSet } from '../health/condition-set.ts';
import type { Checkpoint, Network, NetworkState } from '../os/network-port.ts';
import type { Disk } from '../os/ports.ts';
import { forgetChecked, readChecked, writeChecked } from '../storage/checked-file.ts';
import { ChangeUndo } from './change-undo.ts';
import { digestOfAll, planNetworks, profileOf, type NetworkStep } from './additional-plan.ts';
import { linksOf } from './observation.ts';
import type { AdditionalNetwork, NetworkSettings } from './network-settings.ts';

const rejectedFile = 'state/network-change.json';
/** NetworkManager itself rolls back after this time, even if this process has died. */
const checkpointSeconds = 180;
/** For contact with the management server after a change. */
const contactMs = 60_000;
const contactEveryMs = 5_000;
const joinMs = 60_000;
const firstRetryMs = 10_000;
const longestRetryMs = 10 * 60_000;

/** A configuration of networks that cut this machine off. */
interface Rejected {
  digest: string;
  /** A clause without a full stop. */
  reason: string;
  sinceWall: number;
}

/** How far the additional networks of a revision are applied. */
export interface NetworksApplied {
  /** Newest applied revision; 0: none yet. */
  revision: number;
  /** Why a newer one is not applied; undefined: it is, or it is being applied. */
  failure: { code: ErrorCode; reason: string } | undefined;
}

export interface AdditionalParts {
  network: Network;
  settings: Cell<NetworkSettings>;
  applied: Cell<NetworksApplied>;
  /** The machine is online, and no user is at the hotspot: profiles may be changed and removed. */
  mayChange: Cell<boolean>;
  /** Set while a change is tried: links that it cuts are not lost. */
  isChanging: Cell<boolean>;
  /** Whether the management server answers now. */
  contact: (signal: AbortSignal) => Promise<boolean>;
  conditions: ConditionSet;
  disk: Disk;
  clock: Clock;
  log: Log;
}

interface Applying extends AdditionalParts {
  undo: ChangeUndo;
}

/** Keeps the profiles of `additional_networks`; only those that this agent made are changed or removed. */
export async function keepAdditionalNetworks(parts: AdditionalParts, signal: AbortSignal): Promise<void> {
  const { network, settings, clock, log } = parts;
  const undo = new ChangeUndo(parts);
  let failures = 0;
  while (!signal.aborted) {
    const goal = settings.get();
    const [seen, couldChange] = [network.state.get(), parts.mayChange.get()];
    let waitMs = longestRetryMs;
    try {
      await applyOnce({ ...parts, undo }, goal, signal);
      failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      waitMs = Math.min(firstRetryMs * 2 ** failures++, longestRetryMs);
      log.warn('additional networks are not applied; it is tried again', { error: errorText(error), waitMs });
    }
    // After a failure, changes of the network alone must not cause a retry each.
    const isStale = network.state.get() !== seen || parts.mayChange.get() !== couldChange;
    if (settings.get() !== goal || (failures === 0 && isStale)) continue;
    const turn = new AbortController();
    const over = AbortSignal.any([turn.signal, signal]);
    const changed = failures > 0 ? [settings] : [settings, network.state, parts.mayChange];
    await Promise.race([clock.sleep(waitMs, over), ...changed.map((cell) => cell.changed(over))]);
    turn.abort();
  }
}

async function applyOnce(parts: Applying, goal: NetworkSettings, signal: AbortSignal): Promise<void> {
  const { network, applied, conditions, disk } = parts;
  if (network.state.get().manager === 'starting' || goal.isPreliminary) return;
  if (network.state.get().manager === 'ready') await parts.undo.restore(); // the power failed during a change
  const state = network.state.get();
  const networks = goal.isDisabled ? [] : goal.additional;
  reportNotApplied(networks, state, conditions);
  if (state.manager !== 'ready') {
    const failure = { code: 'NETWORK_NOT_APPLIED', reason: missing(state) } as const;
    return applied.set(
      networks.length === 0
        ? { revision: goal.revision, failure: undefined }
        : { revision: Math.min(applied.get().revision, goal.revision), failure },
    );
  }
  const digest = digestOfAll(networks);
  const { value: rejected } = await readChecked(disk, rejectedFile, rejectedOf);
  if (rejected && rejected.digest !== digest) await forgetChecked(disk, rejectedFile);
  if (rejected?.digest === digest) return reportRejected(rejected, parts);
  clearCondition(conditions, 'NETWORK_CHANGE_ROLLED_BACK');
  const planned = goal.isDisabled ? [] : planNetworks(networks, state);
  // Only the manufacturer's defaults are known: networks of an earlier configuration stay. Offline, each network of this
  // agent may be the way back: after a power cut, a change must not be made without a trial.
  const isWhole = goal.revision > 0 && parts.mayChange.get();
  const steps = isWhole ? planned : planned.filter((step) => step.do === 'addNetwork');
  if (steps.length > 0) {
    const reason = await change(steps, networks, parts, signal).finally(() => parts.isChanging.set(false));
    if (reason !== '') {
      const failed = { digest, reason, sinceWall: parts.clock.wall() };
      await writeChecked(disk, rejectedFile, failed satisfies Rejected);
      return reportRejected(failed, parts);
    }
  }
  if (goal.revision > 0 && steps.length < planned.length) return;
  if (goal.revision > 0) await parts.undo.applied(networks);
  applied.set({ revision: goal.revision, failure: undefined });
}

/** A new profile alone cuts no link. */
const isRisky = (step: NetworkStep, state: NetworkState): boolean =>
  step.do !== 'addNetwork' && linksOf(state).some(({ profile }) => profile === step.uuid);

/** Makes the change under a checkpoint. @returns why it was rolled back; empty: it holds */
async function change(
  steps: readonly NetworkStep[],
  networks: readonly AdditionalNetwork[],
  parts: Applying,
  signal: AbortSignal,
): Promise<string> {
  const { network, log, undo } = parts;
  const before = network.state.get();
  const risky = steps.filter((step) => isRisky(step, before));
  parts.isChanging.set(risky.length > 0);
  const checkpoint = risky.length > 0 ? await network.checkpoint(checkpointSeconds) : undefined;
  const rollBack = async (): Promise<void> => {
    await checkpoint?.rollBack();
    if (checkpoint) await undo.restore();
  };
  try {
    if (checkpoint) await undo.begin(steps, before);
    for (const step of steps) {
      log.info(step.do, { network: step.name });
      await apply(step, networks, before, network);
    }
    if (!checkpoint) return '';
    const reason = (await problemOf(risky, before, parts, signal)) || (await kept(checkpoint));
    if (reason === '') await undo.forget();
    else await rollBack();
    if (reason !== '') log.error('a change of networks is rolled back', { reason });
    return reason;
  } catch (error) {
    await rollBack();
    throw error;
  }
}

/** Whether the change works. @returns the problem; empty: none */
async function problemOf(
  risky: readonly NetworkStep[],
  before: NetworkState,
  parts: AdditionalParts,
  signal: AbortSignal,
): Promise<string> {
  const problem = await activate(risky, before, parts, signal);
  const hasWorked = problem === '' && (await hasContact(parts, signal));
  if (signal.aborted) throw new Error('the agent ends');
  return hasWorked ? '' : problem || 'the management server was not reached after the change';
}

const kept = async (checkpoint: Checkpoint): Promise<string> =>
  (await checkpoint.confirm())
    ? ''
    : `NetworkManager has rolled it back, because it was not confirmed within ${checkpointSeconds} s`;

async function apply(
  step: NetworkStep,
  networks: readonly AdditionalNetwork[],
  before: NetworkState,
  network: Network,
): Promise<void> {
  if (step.do === 'removeNetwork') return network.remove(step.uuid);
  const wanted = networks.find(({ name }) => name === step.name);
  if (!wanted) return;
  if (step.do === 'addNetwork') return void (await network.save(profileOf(wanted)));
  const old = before.profiles.find(({ uuid }) => uuid === step.uuid);
  await network.save(profileOf(wanted, old?.isAutoconnect), step.uuid);
}

/** A changed profile that is in use takes effect with a new activation. @returns the problem; empty: none */
async function activate(
  steps: readonly NetworkStep[],
  before: NetworkState,
  { network, clock }: AdditionalParts,
  signal: AbortSignal,
): Promise<string> {
  for (const step of steps) {
    if (step.do !== 'changeNetwork') continue;
    const device = linksOf(before).find(({ profile }) => profile === step.uuid);
    const result = await within(joinMs, { what: `joining ${step.name}`, clock, signal }, (over) =>
      network.join(step.uuid, device?.interface ?? '', over),
    );
    if (!result.ok) return `${step.name} could not be joined: ${result.reason}`;
  }
  return '';
}

async function hasContact({ contact, clock }: AdditionalParts, signal: AbortSignal): Promise<boolean> {
  const end = clock.now() + contactMs;
  while (!signal.aborted && clock.now() < end) {
    if (await contact(signal).catch(() => false)) return true;
    await clock.sleep(contactEveryMs, signal);
  }
  return false;
}

const missing = ({ manager, version }: NetworkState): string =>
  `NetworkManager 1.30 or newer is needed${manager === 'too-old' ? `, and this machine has ${version}` : ''}`;

/** Each configured network is one condition while no NetworkManager can apply it. */
function reportNotApplied(networks: readonly AdditionalNetwork[], state: NetworkState, conditions: ConditionSet): void {
  const code = 'NETWORK_NOT_APPLIED';
  const names = new Set(state.manager === 'ready' ? [] : networks.map(({ name }) => name));
  for (const { code: other, subject } of conditions.get())
    if (other === code && !names.has(subject ?? '')) clearCondition(conditions, code, subject);
  for (const network of names) {
    const { what, remedy } = new PlatformError(code, { network, reason: missing(state) });
    setCondition(conditions, { code, subject: network, severity: 'warning', message: what, remedy });
  }
}

function reportRejected({ reason, sinceWall }: Rejected, { applied, conditions }: AdditionalParts): void {
  const code = 'NETWORK_CHANGE_ROLLED_BACK';
  const { what, remedy } = new PlatformError(code, { reason });
  setCondition(conditions, { code, severity: 'error', message: what, remedy, sinceWall });
  applied.update(({ revision }) => ({ revision, failure: { code, reason: `rolled back: ${reason}` } }));
}

function rejectedOf(value: unknown): Rejected {
  const { digest, reason, sinceWall } = value as Partial<Rejected>;
  if (typeof digest !== 'string' || typeof reason !== 'string') throw new Error('it names no change');
  return { digest, reason, sinceWall: typeof sinceWall === 'number' ? sinceWall : 0 };
}
