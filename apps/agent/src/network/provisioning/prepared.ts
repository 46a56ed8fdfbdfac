import { anyChanged, Cell, type Clock } from '@platform/kit';
import type { Network } from '../../os/network-port.ts';

/** NetworkManager may still start, and a slow board needs a second for each network. */
const limitMs = 30_000;

/** What is known since this start, not from before. */
export interface Fresh {
  /** The networks of the configuration were added once. Absent: there is nothing to wait for. */
  isPrepared?: Cell<boolean>;
}

/** Until the networks of the configuration were added: a fresh device must not open its hotspot before they are known. */
export async function untilPrepared(
  { isPrepared = new Cell(true), network, clock }: { isPrepared?: Cell<boolean>; network: Network; clock: Clock },
  signal: AbortSignal,
): Promise<void> {
  const limit = new AbortController();
  const over = AbortSignal.any([limit.signal, signal]);
  void clock.sleep(limitMs, over).then(() => limit.abort());
  while (!isPrepared.get() && network.state.get().manager !== 'absent' && !over.aborted)
    await anyChanged([isPrepared, network.state], over);
  limit.abort();
}
