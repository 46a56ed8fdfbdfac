/** What `version_control` may name. */
export type VersionWish =
  | { is: 'channel'; channel: 'stable' | 'dev' }
  | { is: 'version'; version: string }
  | { is: 'url'; url: string };

/** Absent, empty or of a wrong type: the default, stable. */
export function versionWish(value: unknown): VersionWish {
  if (typeof value !== 'string' || value === '' || value === 'stable') return { is: 'channel', channel: 'stable' };
  if (value === 'dev') return { is: 'channel', channel: 'dev' };
  if (/^(https?|file):\/\//i.test(value)) return { is: 'url', url: value };
  return { is: 'version', version: value.replace(/^v(?=\d)/, '') };
}

/** Our agent says so in its tags; unmodified agents of the public protocol link the file by the name that they know. */
export const ourAgentTag = 'platform-agent';
export type Product = 'platform' | 'reference';
export const productOf = (tags: readonly string[]): Product => (tags.includes(ourAgentTag) ? 'platform' : 'reference');

export type Program = 'platform-agent' | 'platform-server';
export const fileName = (program: Program, product: Product): string =>
  product === 'platform' ? program : program.replace('platform-', 'viam-');

/** linux/amd64 → linux-amd64: one segment of a path. */
export const platformSegment = (platform: string): string => platform.replace('/', '-');
export const releasePath = (of: { name: string; version: string; platform: string }): string =>
  `/releases/${of.name}/${of.version}/${platformSegment(of.platform)}/${of.name}`;
