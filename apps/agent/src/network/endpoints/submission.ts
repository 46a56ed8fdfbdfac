import type { Submission } from './provisioning-view.ts';

/** Limits of IEEE 802.11 and WPA. */
const ssidBytes = 32;
const pskBytes = { min: 8, max: 63 };
const rawPsk = /^[0-9a-f]{64}$/i;
/** A credentials file has less than 1 KiB; one with an own authority has a few. */
export const credentialsBytes = 64 * 1024;

/** Why this cannot be what a network or a credentials file has; for users. Undefined: it can. */
export function submissionProblem({ wifi, credentials }: Submission, hasRadio = true): string | undefined {
  if (!wifi && credentials === undefined) return 'Nothing was entered. Choose a network.';
  if (wifi && !hasRadio) return 'This device has no WiFi radio. Enter the credentials alone.';
  if (wifi) {
    const problem = ssidProblem(wifi.ssid) ?? (wifi.psk === '' ? undefined : pskProblem(wifi.psk));
    if (problem !== undefined) return problem;
  }
  if (credentials === undefined) return undefined;
  const size = Buffer.byteLength(credentials);
  if (size > credentialsBytes) return `The credentials have ${size} bytes. The limit is ${credentialsBytes}.`;
  return credentials.trim() === '' ? 'The credentials are empty.' : undefined;
}

function ssidProblem(ssid: string): string | undefined {
  const size = Buffer.byteLength(ssid);
  if (size === 0) return 'The name of the network is empty. Choose a network or enter its name.';
  return size > ssidBytes
    ? `The name of the network has ${size} bytes. A WiFi network has at most ${ssidBytes}.`
    : undefined;
}

function pskProblem(psk: string): string | undefined {
  // wpa_supplicant refuses them, too.
  if (/\p{Cc}/u.test(psk)) return 'The password contains a line break or a control character. Enter it again.';
  const size = Buffer.byteLength(psk);
  if (rawPsk.test(psk) || (size >= pskBytes.min && size <= pskBytes.max)) return undefined;
  const limits = `A WiFi password has ${pskBytes.min} to ${pskBytes.max} characters`;
  return size < pskBytes.min
    ? `The password has only ${size} characters. ${limits}.`
    : `The password has ${size} characters. ${limits}, or is a key of 64 hexadecimal digits.`;
}
