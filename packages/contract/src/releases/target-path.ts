/** Paths in the signed targets document: the publisher signs them, and agents compute them independently. */

/** The platforms that every version of agent and machine server is released for. */
export const releasePlatforms = ['linux/amd64', 'linux/arm64', 'windows/amd64'] as const;
export type ReleasePlatform = (typeof releasePlatforms)[number];

/** linux/amd64 → linux-amd64: one path segment. */
export const platformSegment = (platform: string): string => platform.replace('/', '-');

/** platform-agent/1.4.0/linux-arm64 */
export const programTargetPath = (of: { name: string; version: string; platform: string }): string =>
  `${of.name}/${of.version}/${platformSegment(of.platform)}`;

/** Files that describe a release and are signed with it: their names. */
export const attachmentFiles = { sbom: 'sbom.cdx.json', licenses: 'licenses.txt' } as const;
export type AttachmentKind = keyof typeof attachmentFiles;
export const isAttachmentKind = (text: string): text is AttachmentKind => Object.hasOwn(attachmentFiles, text);

/** platform-agent/1.4.0/linux-arm64/sbom.cdx.json */
export const attachmentTargetPath = (of: {
  kind: AttachmentKind;
  name: string;
  version: string;
  platform: string;
}): string => `${programTargetPath(of)}/${attachmentFiles[of.kind]}`;

/** delta/<from>/<to>: the first 12 hex digits of each file. */
export const patchTargetPath = (of: { fromSha256: string; toSha256: string }): string =>
  `delta/${of.fromSha256.slice(0, 12)}/${of.toSha256.slice(0, 12)}`;
