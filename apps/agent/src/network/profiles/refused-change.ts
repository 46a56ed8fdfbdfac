import { Cell, type Clock, type Log } from '@platform/kit';
import type { JoinAnswer } from '../../state-machines/network-rules.ts';
import type { Network } from '../../os/network-port.ts';
import type { Disk } from '../../os/ports.ts';
import { digestOf, digestOfAll, profileOf } from './additional-plan.ts';
import { ChangeUndo } from './change-undo.ts';
import type { NetworkSettings } from '../settings/network-settings.ts';
import { RejectedChange } from './rejected-change.ts';

/** The records of changes on trial. Whoever tries one holds the others back. */
export interface NetworkTrials {
  undo: ChangeUndo;
  rejections: RejectedChange;
  /** A network is being joined with what was refused before. */
  isRetrying: Cell<boolean>;
}

export const networkTrials = (parts: { network: Network; disk: Disk; clock: Clock; log: Log }): NetworkTrials => ({
  undo: new ChangeUndo(parts),
  rejections: new RejectedChange(parts),
  isRetrying: new Cell(false),
});

interface RetryParts {
  network: Network;
  settings: Cell<NetworkSettings>;
  trials: NetworkTrials;
  log: Log;
}

interface Joined {
  answer: JoinAnswer;
  detail: string;
}

/**
 * Joins a network. If it refuses the password that worked before a refused change, the router may have the configured
 * one by now: that is tried, and kept if the network takes it.
 */
export async function joinOrRetry(
  uuid: string,
  parts: RetryParts,
  join: (timeLeft: number) => Promise<Joined>,
  { clock, timeoutMs }: { clock: Clock; timeoutMs: number },
): Promise<Joined> {
  const end = clock.now() + timeoutMs;
  const first = await join(timeoutMs);
  if (first.answer.ok || first.answer.reason !== 'wrong-password') return first;
  const { network, trials, log } = parts;
  const change = await refusedChange(uuid, parts);
  if (!change) return first;
  const { saved, configured } = change;
  trials.isRetrying.set(true);
  try {
    await trials.undo.begin([{ do: 'changeNetwork', name: configured.name, uuid }], network.state.get(), '');
    await network.save(profileOf(configured, saved.isAutoconnect), uuid);
    const second = await join(end - clock.now());
    if (!second.answer.ok) return first;
    await trials.undo.forget();
    await trials.rejections.forget();
    log.info('a network takes the password that it refused before', { network: configured.name });
    return second;
  } finally {
    await trials.undo.restore(); // does nothing if the change holds
    trials.isRetrying.set(false);
  }
}

/** The configured form of this network, if it was refused. */
async function refusedChange(uuid: string, { network, settings, trials }: RetryParts) {
  const { isDisabled, isKnown, additional } = settings.get();
  if (isDisabled || !isKnown) return undefined;
  const saved = network.state.get().profiles.find((one) => one.uuid === uuid);
  const mark = saved?.mark;
  if (!saved || mark?.kind !== 'additional') return undefined;
  const configured = additional.find(({ name }) => name === mark.name);
  if (!configured || mark.digest === digestOf(configured)) return undefined;
  const rejected = await trials.rejections.of(digestOfAll(additional));
  return rejected?.isRefused === true ? { saved, configured } : undefined;
}
