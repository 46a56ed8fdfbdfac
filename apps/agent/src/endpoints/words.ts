import type { AttemptResult, ProvisioningAttempt } from '../network/provisioning-view.ts';

/** What a result means for the user who entered the network, and what to do. */
const advice: Readonly<Record<AttemptResult, readonly [what: string, todo: string]>> = {
  ok: ['The device is connected to', ''],
  trying: ['The device is joining', ''],
  'wrong-password': ['Wrong password for', 'Check the password, also upper and lower case, and enter it again.'],
  'not-found': [
    'The device did not find',
    'Is the network in reach of the device? If it is hidden, check the spelling of its name.',
  ],
  'no-address': [
    'No address from',
    'The password was accepted, but the network gave the device no address (DHCP). Restart its router and try again.',
  ],
  portal: [
    'A sign-in page blocks',
    'This network wants a sign-in on a web page of its own, which the device cannot do. Choose another network.',
  ],
  'no-internet': [
    'No internet through',
    'The device joined the network, but the network has no connection to the internet. Check its router.',
  ],
  'ipv6-only': [
    'IPv6 only, and no internet, through',
    'The device joined the network, which gave it no IPv4 address. Switch on DHCP in its router, or check the router.',
  ],
  unchecked: [
    'The internet could not be checked through',
    'The device joined the network, but nothing answered in time. Try again, or move the device closer to the router.',
  ],
  'no-cloud': [
    'The management server is not reached through',
    'The device is on the internet, but a firewall or proxy may keep it from its management server.',
  ],
  'refused-by-authentication-server': ['The user name or password is refused by', 'Check both with the administrator.'],
  'authentication-server-not-trusted': [
    'The certificate is not trusted of',
    'The authority that the device has for this network is not the one that it uses.',
  ],
  'client-certificate-refused': [
    'The certificate of the device is refused by',
    'It may have expired. Renew it in the management app.',
  ],
  'address-in-use': ['The address of the device is taken in', 'Another device has it. Choose another fixed address.'],
  'timed-out': ['No answer in time from', 'Move the device closer to the router, then try again.'],
  'device-gone': ['The WiFi adapter went away while joining', 'Plug it in again, then try again.'],
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
