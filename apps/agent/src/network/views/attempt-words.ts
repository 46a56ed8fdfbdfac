import type { AttemptResult, ProvisioningAttempt } from '../endpoints/provisioning-view.ts';
import type { NetworkAttempt } from '../rows/network-status.ts';

/** Why a network could not be used, for users; empty: it works, or it is being tried. */
export function attemptText(result: AttemptResult, ssid: string): string {
  const texts: Record<AttemptResult, string> = {
    ok: '',
    trying: '',
    portal: `Connected to ${ssid}, but that network asks for a sign-in on a web page, which this device cannot do.`,
    'no-internet': `Connected to ${ssid}, but there is no internet.`,
    'ipv6-only': `Connected to ${ssid}, which gives IPv6 addresses only, but there is no internet through it.`,
    unchecked: `Connected to ${ssid}, but the internet could not be checked.`,
    'no-cloud': `Connected to ${ssid}, but the management server is not reached.`,
    'wrong-password': `The password of ${ssid} is wrong.`,
    'not-found': `The network ${ssid} was not found. It may be switched off, too far away, or on a band that this device cannot use.`,
    'no-address': `${ssid} gave this device no address (DHCP). Restart the router, or free addresses in it.`,
    'refused-by-authentication-server': `The authentication server of ${ssid} refused the user name or the password.`,
    'authentication-server-not-trusted': `The certificate of the authentication server of ${ssid} is not trusted.`,
    'client-certificate-refused': `The authentication server of ${ssid} refused the certificate of this device.`,
    'address-in-use': `The address of this device in ${ssid} is in use by another device.`,
    'timed-out': `${ssid} did not answer in time.`,
    'device-gone': 'The WiFi radio of this device is gone.',
    failed: `The connection to ${ssid} failed.`,
  };
  return texts[result];
}

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
