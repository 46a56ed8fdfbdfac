// A one-time code by which a device gets its credentials: eight letters that a user types on a phone.

/** Without I, L and O, which look like digits or each other. */
const letters = 'ABCDEFGHJKMNPQRSTUVWXYZ';
const setUpCodeLength = 8;
/** 108 bits of a hash: too many tries to make another authority with the same letters. */
const fingerprintLength = 24;
const onlyLetters = new RegExp(`^[${letters}]*$`);

/** Path of POST on the management server, with both headers below; the answer is the credentials file. */
export const redeemPath = '/api/set-up-codes/redeem';
export const codeHeader = 'x-set-up-code';
/** A random text of the device; the same device may redeem its code again, for example after a power cut. */
export const deviceHeader = 'x-set-up-device';
export const deviceText = /^[A-Za-z0-9_-]{43}$/;
/** Version of the agent that redeems; older ones do not send it. */
export const agentVersionHeader = 'x-agent-version';
/** ID of the fragment that the manufacturer's defaults of the device name; absent: they name none. Also with a one-time key. */
export const fragmentHeader = 'x-set-up-fragment';
/** What is sent as such an ID; the server reports one that does not exist. */
export const fragmentText = /^[\w-]{1,64}$/;

/** @param pick - a random whole number from 0 up to, but not including, its argument. */
export const newSetUpCode = (pick: (below: number) => number): string =>
  Array.from({ length: setUpCodeLength }, () => letters[pick(letters.length)]).join('');

/** Users type small letters and blanks; keyboards of phones type other dashes than the hyphen. */
const plain = (text: string): string => text.replaceAll(/[\s\p{Dash_Punctuation}]/gu, '').toUpperCase();

function readLetters(text: string, length: number): string | undefined {
  const found = plain(text);
  return found.length === length && onlyLetters.test(found) ? found : undefined;
}

/** The code as it is compared. Undefined: it cannot be a code. */
export const readSetUpCode = (text: string): string | undefined => readLetters(text, setUpCodeLength);

/** "ABCD-EFGH": easier to read and to type. */
export const shownSetUpCode = (code: string): string => code.replaceAll(/.{4}(?=.)/g, '$&-');

/**
 * The letters by which a set-up text names the server's own certificate authority.
 *
 * @param sha256 - of the authority's certificates in PEM form, hexadecimal.
 */
export function fingerprintLetters(sha256: string): string {
  const base = BigInt(letters.length);
  let rest = BigInt(`0x${sha256}`);
  let text = '';
  for (; text.length < fingerprintLength; rest /= base) text += letters[Number(rest % base)];
  return text;
}

/** Codes that differ from this one in one letter, or by two swapped neighbours. */
export function similarSetUpCodes(code: string): string[] {
  const found = new Set<string>();
  for (let at = 0; at < code.length; at++) {
    for (const letter of letters) found.add(code.slice(0, at) + letter + code.slice(at + 1));
    const [one = '', other = ''] = code.slice(at, at + 2);
    found.add(code.slice(0, at) + other + one + code.slice(at + 2));
  }
  found.delete(code);
  return [...found];
}

export interface SetUpText {
  code: string;
  /** Base URL of the management server, without a path. */
  server: string;
  /** `fingerprintLetters` of the server's own authority; absent: a public authority issued its certificate. */
  authority?: string;
}

/** The text that a user enters on a device: `ABCD-EFGH@https://server`, with `#` and the fingerprint of its authority. */
export const setUpText = ({ code, server, authority }: SetUpText): string =>
  `${shownSetUpCode(code)}@${server}${authority === undefined ? '' : `#${shownSetUpCode(authority)}`}`;

/** Reads a set-up text; a server without a scheme is https. Undefined: it is something else. */
export function parseSetUpText(text: string): SetUpText | undefined {
  const read = readSetUpText(text);
  return read.is === 'code' ? read.entered : undefined;
}

/** Why a text that a user took for a set-up code is none; undefined: it is one, or something else was meant. */
export function setUpTextProblem(text: string): string | undefined {
  const read = readSetUpText(text);
  return read.is === 'problem' ? read.problem : undefined;
}

type ReadText = { is: 'code'; entered: SetUpText } | { is: 'problem'; problem: string } | { is: 'other' };

/** Longer texts, and what begins like a credentials file, are something else. */
const longestText = 400;

function readSetUpText(text: string): ReadText {
  const [whole, fingerprint] = splitAt(text.trim(), '#');
  if (text.length > longestText || /^[{["/]/.test(whole) || whole === '') return { is: 'other' };
  const [letterText, address] = splitAt(whole, '@');
  const code = readSetUpCode(letterText);
  if (code === undefined)
    return { is: 'problem', problem: lettersProblem('a set-up code', letterText, setUpCodeLength) };
  if (address === undefined)
    return { is: 'problem', problem: 'the server is missing: enter the code, then @ and the address of the server' };
  const server = serverOf(address.trim());
  if (server === undefined)
    return { is: 'problem', problem: 'what follows the @ is not the address of a server, such as fleet.example' };
  if (fingerprint === undefined) return { is: 'code', entered: { code, server } };
  const authority = readLetters(fingerprint, fingerprintLength);
  return authority === undefined
    ? { is: 'problem', problem: lettersProblem('what follows the #', fingerprint, fingerprintLength) }
    : { is: 'code', entered: { code, server, authority } };
}

/** The text before the first mark, and the text after it; undefined: there is none. */
function splitAt(text: string, mark: string): [string, string | undefined] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}

function lettersProblem(what: string, text: string, length: number): string {
  const found = plain(text);
  return onlyLetters.test(found)
    ? `${what} has ${length} letters, and this has ${found.length}`
    : `${what} has ${length} letters from A to Z without I, L and O, and nothing else`;
}

function serverOf(address: string): string | undefined {
  const url = URL.parse(/^https?:\/\//i.test(address) ? address : `https://${address}`);
  if (!url || url.hostname === '' || url.username !== '' || url.search !== '' || url.hash !== '') return undefined;
  return url.pathname === '/' ? url.origin : undefined;
}
