import { programTargetPath } from '@platform/contract/releases/target-path';
/** Values of `version_control`. */
export type DesiredVersion =
  | { is: 'channel'; channel: 'stable' | 'dev' }
  | { is: 'version'; version: string }
  | FilePin;
/** A file without a release signature. `sha256`: hex; empty: not given. */
export type FilePin = { is: 'file'; url: string; sha256: string; problem: PinProblem | undefined };
export type PinProblem = { message: string; remedy: string };

/** An absent, empty or mistyped value means the default, stable. */
export function parseDesiredVersion(value: unknown): DesiredVersion {
  if (typeof value !== 'string' || value === '' || value === 'stable') return { is: 'channel', channel: 'stable' };
  if (value === 'dev') return { is: 'channel', channel: 'dev' };
  if (/^(https?|file):/i.test(value)) return filePin(value);
  return { is: 'version', version: value.replace(/^v(?=\d)/, '') };
}

const hash = /^#sha256=([0-9a-f]{64})$/i;
const hashForm = 'file:///opt/builds/program#sha256=<64 hexadecimal digits>';

/** `https://host/file#sha256=<hex>`: clients never send a fragment to the server, so it can carry the expected hash. */
function filePin(text: string): FilePin {
  const wrong = (message: string, remedy: string): FilePin => ({
    is: 'file',
    url: '',
    sha256: '',
    problem: { message, remedy },
  });
  if (!URL.canParse(text)) return wrong('is not a valid URL.', `Write it like https://host/path or ${hashForm}.`);
  const url = new URL(text);
  const sha256 = hash.exec(url.hash)?.[1]?.toLowerCase() ?? '';
  if (url.hash !== '' && sha256 === '')
    return wrong('ends with a fragment that is not a hash.', `Write the hash of the file like ${hashForm}.`);
  if (url.username !== '' || url.password !== '')
    return wrong('holds a password.', 'Machines download without credentials: use a file that needs none.');
  url.hash = '';
  if (url.protocol === 'file:' && (url.host !== '' || url.pathname.length < 2 || url.pathname.endsWith('/')))
    return wrong(
      'names no file of the machine.',
      'Write file:// and the whole path, for example file:///opt/builds/program.',
    );
  if (url.protocol === 'http:' && sha256 === '' && !isLoopbackHost(url.hostname))
    return wrong(
      'is fetched without TLS, so anybody on the way could put another program in its place.',
      'Use https, or add the hash of the file: http://host/path#sha256=<64 hexadecimal digits>.',
    );
  return { is: 'file', url: url.href, sha256, problem: undefined };
}

/** Tag of our agent; unmodified agents of the public protocol link the file by the name that they know. */
export const ourAgentTag = 'platform-agent';
export type Product = 'platform' | 'reference';
export const productOf = (tags: readonly string[]): Product => (tags.includes(ourAgentTag) ? 'platform' : 'reference');

export const programs = ['platform-agent', 'platform-server'] as const;
export type Program = (typeof programs)[number];
const otherPrograms = { 'platform-agent': 'viam-agent', 'platform-server': 'viam-server' } as const;
/** Names of releases: our programs, and those of the other product that a user publishes here for its agents. */
export type ReleaseName = Program | (typeof otherPrograms)[Program];
export const otherReleases: readonly string[] = Object.values(otherPrograms);
/** A machine gets releases of its agent's product, and links the file by the release's name. */
export const releaseName = (program: Program, product: Product): ReleaseName =>
  product === 'platform' ? program : otherPrograms[program];
/** The key of version_control that chooses the program's version. */
export const versionControlKey = { 'platform-agent': 'agent', 'platform-server': 'platform-server' } as const;

export const releasePath = (of: { name: string; version: string; platform: string }): string =>
  `/releases/${programTargetPath(of)}/${of.name}`;

/** A loopback host in a URL: no attacker can intercept the connection. */
const isLoopbackHost = (hostname: string): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname);
