import type { Cell } from '@platform/kit';
import { contentOf, isSameConfig, noContent, type Actual } from '../../state/state.ts';
import type { NetworksApplied } from '../profiles/additional-networks.ts';
import type { NetworkRows } from './network-rows.ts';
import type { NetworkStatus } from './network-status.ts';

/** A network that no server can accept as it is configured is not in effect. */
function refusal(rows: NetworkRows | undefined): Actual['networkFailure'] {
  const row = rows?.networks.find(({ code }) => code === 'NETWORK_CERTIFICATE_UNUSABLE');
  return row && { code: row.code, reason: `${row.path}: ${row.text}` };
}

/**
 * The observed state with what the network task has put in effect. A revision counts once its rows are measured, too:
 * before that, nothing shows whether its networks can act on this machine.
 */
export function withNetworks(actual: Actual, applied: NetworksApplied, status: NetworkStatus | undefined): Actual {
  const { networkIneffective: _, ...rest } = actual;
  const rows = status?.rows;
  const before = actual.acted.network ?? noContent;
  const isMeasured = rows !== undefined && isSameConfig(rows, applied);
  // Profiles of another configuration are written: the earlier one is not in effect any more.
  const isReplaced = rows !== undefined && !isSameConfig(before, applied);
  const content = isMeasured ? contentOf(applied) : isReplaced ? noContent : before;
  const ineffective = rows ? rows.ineffective : (actual.networkIneffective ?? []);
  return {
    ...rest,
    acted: { ...actual.acted, network: content },
    networkFailure: applied.failure ?? refusal(rows),
    ...(ineffective.length > 0 && { networkIneffective: ineffective }),
  };
}

const noted = ({ acted, networkFailure, networkIneffective }: Actual): string =>
  JSON.stringify([acted.network, networkFailure, networkIneffective]);

/** Sets the observed state only if that part of it changes: the strength of a signal changes all the time. */
export function noteNetworksIn(
  actual: Cell<Actual>,
  applied: NetworksApplied,
  status: NetworkStatus | undefined,
): void {
  const next = withNetworks(actual.get(), applied, status);
  if (noted(next) !== noted(actual.get())) actual.set(next);
}
