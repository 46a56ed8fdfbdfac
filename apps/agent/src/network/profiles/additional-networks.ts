import type { ConditionCode } from '@platform/contract/conditions/conditions';
import { errorText, type Cell, changedOr } from '@platform/kit';
import { clearCondition, setCondition, type ConditionSet } from '../../health/condition-set.ts';
import type { Checkpoint, Network, NetworkState } from '../../os/network-port.ts';
import { contentOf, type ConfigContent } from '../../state/state.ts';
import { digestOfAll, planNetworks, profileOf, type NetworkStep } from './additional-plan.ts';
import { isRisky, problemAfter, untilBack, type ChangeProblem } from './change-proof.ts';
import type { AdditionalNetwork, NetworkSettings } from '../settings/network-settings.ts';
import { retryText, type Rejected } from './rejected-change.ts';
import type { NetworkTrials } from './refused-change.ts';
import type { Context } from '../../health/context.ts';

/** NetworkManager itself rolls back after this time, even if this process has died. */
const checkpointSeconds = 180;
const firstRetryMs = 10_000;
const longestRetryMs = 10 * 60_000;

/** The configuration whose additional networks are applied; `noContent`: none yet. */
export interface NetworksApplied extends ConfigContent {
  /** Why another one is not applied; undefined: it is, or it is being applied. */
  failure: { code: ConditionCode; reason: string } | undefined;
}

export interface AdditionalParts extends Pick<Context, 'conditions' | 'disk' | 'clock' | 'log'> {
  network: Network;
  settings: Cell<NetworkSettings>;
  applied: Cell<NetworksApplied>;
  /** The machine is online, and no user is at the hotspot: profiles may be changed and removed. */
  mayChange: Cell<boolean>;
  /** Set while a change is tried: links that it cuts are not lost. */
  isChanging: Cell<boolean>;
  /** Set after the first pass: all networks are added that can be. */
  isPrepared?: Cell<boolean>;
  /** The management server answers the calls of this machine. */
  isReached: Cell<boolean>;
  /** Whether the management server answers a request that begins now, on a connection of its own. */
  contact: (signal: AbortSignal) => Promise<boolean>;
  trials: NetworkTrials;
}

interface Applying extends AdditionalParts, NetworkTrials {}

/** Keeps the profiles of `additional_networks`; only those that this agent made are changed or removed. */
export async function keepAdditionalNetworks(parts: AdditionalParts, signal: AbortSignal): Promise<void> {
  const { network, settings, mayChange, isReached, trials, clock, log } = parts;
  const { rejections, isRetrying } = trials;
  let failures = 0;
  while (!signal.aborted) {
    const goal = settings.get();
    const inputs = [network.state, mayChange, isReached, isRetrying];
    const seen = inputs.map((cell) => cell.get());
    rejections.noteReached(isReached.get());
    let waitMs = longestRetryMs;
    try {
      waitMs = Math.min(await applyOnce({ ...parts, ...trials }, goal, signal), longestRetryMs);
      failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      waitMs = Math.min(firstRetryMs * 2 ** failures++, longestRetryMs);
      log.warn('additional networks are not applied; it is tried again', { error: errorText(error), waitMs });
    }
    if (network.state.get().manager !== 'starting') parts.isPrepared?.set(true);
    // After a failure, changes of the network alone must not cause a retry each.
    const isStale = inputs.some((cell, n) => cell.get() !== seen[n]);
    if (settings.get() !== goal || (failures === 0 && isStale)) continue;
    await changedOr(failures > 0 ? settings : [settings, ...inputs], waitMs, clock, signal);
  }
}

/** @returns when to come again, ms; Infinity: when something changes */
async function applyOnce(parts: Applying, goal: NetworkSettings, signal: AbortSignal): Promise<number> {
  const { network, applied, conditions, rejections } = parts;
  if (network.state.get().manager === 'starting' || parts.isRetrying.get()) return Infinity;
  if (network.state.get().manager === 'ready') await restoreInterrupted(parts);
  const state = network.state.get();
  const networks = goal.isDisabled ? [] : goal.additional;
  reportNotApplied(networks, state, conditions);
  if (state.manager !== 'ready') {
    const failure = { code: 'NETWORK_NOT_APPLIED', reason: missing(state) } as const;
    applied.set(
      networks.length === 0 ? { ...contentOf(goal), failure: undefined } : { ...contentOf(applied.get()), failure },
    );
    return Infinity;
  }
  const digest = digestOfAll(networks);
  const rejected = await rejections.of(digest);
  const waitMs = rejected ? (parts.mayChange.get() ? rejections.waitMs(rejected) : Infinity) : 0;
  if (rejected) reportRejected(rejected, parts);
  else clearCondition(conditions, 'NETWORK_CHANGE_ROLLED_BACK');
  if (waitMs > 0) return waitMs;
  const planned = goal.isDisabled ? [] : planNetworks(networks, state);
  // Only the manufacturer's defaults are known: networks of an earlier configuration stay. Offline, each network of this
  // agent may be the way back: after a power cut, a change must not be made without a trial.
  const isWhole = goal.isKnown && parts.mayChange.get();
  const steps = isWhole ? planned : planned.filter((step) => step.do === 'addNetwork');
  if (steps.length > 0) {
    const problem = await change(steps, networks, parts, signal).finally(() => parts.isChanging.set(false));
    if (problem) {
      const next = await rejections.reject(digest, problem, rejected);
      reportRejected(next, parts);
      return rejections.waitMs(next);
    }
  }
  if (goal.isKnown && steps.length < planned.length) return Infinity;
  if (rejected) await rejections.forget();
  clearCondition(conditions, 'NETWORK_CHANGE_ROLLED_BACK');
  if (goal.isKnown) await parts.undo.applied(networks);
  applied.set({ ...contentOf(goal), failure: undefined });
  return Infinity;
}

/** The power failed during a change. It may be what cut the machine off, so it waits as after a rollback. */
async function restoreInterrupted({ undo, rejections }: Applying): Promise<void> {
  const digest = await undo.restore();
  if (digest === undefined) return;
  const problem = { reason: 'the power failed, or the agent was killed, during its trial', isRefused: false };
  await rejections.reject(digest, problem, await rejections.of(digest));
}

/** Makes the change under a checkpoint. @returns why it was rolled back; undefined: it holds */
async function change(
  steps: readonly NetworkStep[],
  networks: readonly AdditionalNetwork[],
  parts: Applying,
  signal: AbortSignal,
): Promise<ChangeProblem | undefined> {
  const { network, log, undo } = parts;
  const before = network.state.get();
  const risky = steps.filter((step) => isRisky(step, networks, before));
  parts.isChanging.set(risky.length > 0);
  const checkpoint = risky.length > 0 ? await network.checkpoint(checkpointSeconds) : undefined;
  const rollBack = async (): Promise<void> => {
    await checkpoint?.rollBack();
    if (checkpoint) await undo.restore();
  };
  try {
    if (checkpoint) await undo.begin(steps, before, digestOfAll(networks));
    for (const step of steps) {
      log.info(step.do, { network: step.name });
      await apply(step, networks, before, network);
    }
    if (!checkpoint) return undefined;
    const unproven = await problemAfter(risky, networks, before, parts, signal);
    if (signal.aborted) throw new Error('the agent ends');
    const problem = unproven ?? (await kept(checkpoint));
    if (!problem) {
      await undo.forget();
      return undefined;
    }
    log.error('a change of networks is rolled back', { reason: problem.reason });
    await rollBack();
    await untilBack(before, parts, signal);
    return problem;
  } catch (error) {
    await rollBack();
    throw error;
  }
}

const kept = async (checkpoint: Checkpoint): Promise<ChangeProblem | undefined> =>
  (await checkpoint.confirm())
    ? undefined
    : {
        reason: `NetworkManager has rolled it back, because it was not confirmed within ${checkpointSeconds} s`,
        isRefused: false,
      };

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

const missing = ({ manager, version }: NetworkState): string =>
  `NetworkManager 1.30 or newer is needed${manager === 'too-old' ? `, and this machine has ${version}` : ''}`;

/** Each configured network is one condition while no NetworkManager can apply it. */
function reportNotApplied(networks: readonly AdditionalNetwork[], state: NetworkState, conditions: ConditionSet): void {
  const code = 'NETWORK_NOT_APPLIED';
  const names = new Set(state.manager === 'ready' ? [] : networks.map(({ name }) => name));
  for (const { code: other, subject } of conditions.get())
    if (other === code && !names.has(subject ?? '')) clearCondition(conditions, code, subject);
  for (const network of names) {
    setCondition(conditions, code, { network, reason: missing(state) }, { subject: network });
  }
}

function reportRejected(rejected: Rejected, { applied, conditions }: AdditionalParts): void {
  const code = 'NETWORK_CHANGE_ROLLED_BACK';
  const { reason, sinceWall } = rejected;
  setCondition(conditions, code, { reason, retry: retryText(rejected) }, { sinceWall });
  applied.update((before) => ({ ...contentOf(before), failure: { code, reason: `rolled back: ${reason}` } }));
}
