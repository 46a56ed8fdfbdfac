import type { NetworkAttempt } from '../rows/network-status.ts';
import type { ProvisioningAttempt } from '../endpoints/provisioning-view.ts';

/**
 * Why a network that the device knew cannot be used any more, for example after its password was changed at the router.
 * A network that is out of reach is named only if there is no better reason.
 *
 * @param attempts - newest first
 * @param shown - the network of a user's own try, which is shown already; empty: none
 */
export function knownFailure(attempts: readonly NetworkAttempt[], shown: string): ProvisioningAttempt | undefined {
  const lastOk = attempts.findIndex(({ result }) => result === 'ok');
  const failed = attempts
    .slice(0, lastOk === -1 ? attempts.length : lastOk)
    .filter(({ network }) => network !== shown)
    .filter(({ network }, at, all) => all.findIndex((one) => one.network === network) === at);
  const found = failed.find(({ result }) => result !== 'not-found') ?? failed[0];
  return found && { ssid: found.network, result: found.result, text: found.text, wall: found.wall };
}
