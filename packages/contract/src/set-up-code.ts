// A one-time code by which a device gets its credentials: eight letters that a user types on a phone.

/** Without I, L and O, which look like digits or each other. */
const letters = 'ABCDEFGHJKMNPQRSTUVWXYZ';
const setUpCodeLength = 8;
const whole = new RegExp(`^[${letters}]{${setUpCodeLength}}$`);

/** Path of POST on the management server, with both headers below; the answer is the credentials file. */
export const redeemPath = '/api/set-up-codes/redeem';
export const codeHeader = 'x-set-up-code';
/** A random text of the device; the same device may redeem its code again, for example after a power cut. */
export const deviceHeader = 'x-set-up-device';
export const deviceText = /^[A-Za-z0-9_-]{43}$/;

/** @param pick - a random whole number from 0 up to, but not including, its argument. */
export const newSetUpCode = (pick: (below: number) => number): string =>
  Array.from({ length: setUpCodeLength }, () => letters[pick(letters.length)]).join('');

/** The code as it is compared: users type small letters, blanks and hyphens. Undefined: it cannot be a code. */
export function readSetUpCode(text: string): string | undefined {
  const code = text.replaceAll(/[\s-]/g, '').toUpperCase();
  return whole.test(code) ? code : undefined;
}

/** "ABCD-EFGH": easier to read and to type. */
export const shownSetUpCode = (code: string): string => `${code.slice(0, 4)}-${code.slice(4)}`;

export interface SetUpText {
  code: string;
  /** Base URL of the management server, without a path. */
  server: string;
}

/** The text that a user enters on a device. */
export const setUpText = ({ code, server }: SetUpText): string => `${shownSetUpCode(code)}@${server}`;

/** Reads `ABCD-EFGH@https://server`; without a scheme it is https. Undefined: it is something else. */
export function parseSetUpText(text: string): SetUpText | undefined {
  const at = text.indexOf('@');
  const code = at < 0 ? undefined : readSetUpCode(text.slice(0, at));
  if (code === undefined) return undefined;
  const address = text.slice(at + 1).trim();
  const url = URL.parse(/^https?:\/\//i.test(address) ? address : `https://${address}`);
  if (!url || url.hostname === '' || url.username !== '' || url.search !== '' || url.hash !== '') return undefined;
  return url.pathname === '/' ? { code, server: url.origin } : undefined;
}
