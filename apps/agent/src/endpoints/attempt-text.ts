import type { AttemptResult, ProvisioningAttempt } from '../network/endpoints/provisioning-view.ts';

/** What a result means for the user who entered the network, and what to do. */
const advice: Readonly<Record<AttemptResult, readonly [what: string, todo: string]>> = {
  ok: ['The device is connected to', ''],
  trying: ['The device is joining', ''],
  'wrong-password': ['Wrong password for', 'Check the password, including upper and lower case, and enter it again.'],
  'not-found': [
    'The device did not find',
    'Move the device closer to the router. If the network is hidden, check the spelling of its name.',
  ],
  'no-address': [
    'No address from',
    'The password was accepted, but the network gave the device no address (DHCP). Restart its router and try again.',
  ],
  portal: [
    'A sign-in page blocks',
    'This network requires a sign-in on its own web page, which the device cannot do. Choose another network.',
  ],
  'no-internet': [
    'No internet through',
    'The device joined the network, but the network has no connection to the internet. Check its router.',
  ],
  'ipv6-only': [
    'IPv6 only and no internet through',
    'The device joined the network but got no IPv4 address. Turn on DHCP in the router, or check the router.',
  ],
  unchecked: [
    'The internet could not be checked through',
    'The device joined the network, but nothing answered in time. Try again, or move the device closer to the router.',
  ],
  'no-cloud': [
    'The management server cannot be reached through',
    'The device has internet, but a firewall or proxy may block its management server. Ask the administrator of the network.',
  ],
  'refused-by-authentication-server': [
    'User name or password rejected by',
    'Check both with the administrator of the network.',
  ],
  'authentication-server-not-trusted': [
    'Certificate not trusted for',
    "The network's certificate is from another authority than the device expects. Correct the authority in the management app.",
  ],
  'client-certificate-refused': [
    'Device certificate rejected by',
    'It may have expired. Renew it in the management app.',
  ],
  'address-in-use': [
    "The device's address is already used in",
    'Another device has the same fixed address. Choose another one.',
  ],
  'timed-out': ['No answer in time from', 'Move the device closer to the router, then try again.'],
  'device-gone': ['The WiFi adapter was unplugged while joining', 'Plug it in again, then try again.'],
  failed: ['The device could not join', 'Try again. If it fails again, restart the device or the router.'],
};

export interface AttemptText {
  what: string;
  ssid: string;
  todo: string;
}

export function attemptText({ ssid, result, text }: ProvisioningAttempt): AttemptText {
  const [what, todo] = advice[result];
  const detail = result === 'failed' || result === 'no-cloud' ? text : '';
  return { what, ssid, todo: [todo, detail].filter(Boolean).join(' ') };
}
