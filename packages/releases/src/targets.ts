import { isSemanticVersion } from '@platform/contract/releases/semantic-version';
import {
  type AttachmentKind,
  attachmentTargetPath,
  isAttachmentKind,
  patchTargetPath,
  programTargetPath,
} from '@platform/contract/releases/target-path';

/** One file of the signed targets document. */
export interface Target {
  readonly path: string;
  readonly sizeBytes: number;
  /** 64 hex digits. */
  readonly sha256: string;
  readonly custom: Words;
}
type Words = ProgramWords | PatchWords | AttachmentWords;
export interface ProgramWords {
  readonly name: string;
  readonly version: string;
  /** linux/amd64 */
  readonly platform: string;
}
export interface PatchWords {
  /** 64 hex digits each. */
  readonly from_sha256: string;
  readonly to_sha256: string;
}

/** A file that describes a program. */
export interface AttachmentWords {
  readonly attachment: AttachmentKind;
  readonly program: string;
  readonly version: string;
  readonly platform: string;
}

export const isPatch = (custom: Words): custom is PatchWords => 'from_sha256' in custom;
export const isProgram = (custom: Words): custom is ProgramWords => 'name' in custom;
export const isAttachment = (custom: Words): custom is AttachmentWords => 'attachment' in custom;

const hex64 = /^[0-9a-f]{64}$/;
const namePattern = /^platform-(agent|server)$/;
export const platformPattern = /^(linux|windows|darwin)\/(amd64|arm64|arm)$/;

const isText = (value: unknown): value is string => typeof value === 'string';

const isProgramOf = ({ name, version, platform }: ProgramWords): boolean =>
  namePattern.test(name) && isSemanticVersion(version) && platformPattern.test(platform);

/** Whether all fields have the right format and the path matches the custom fields. */
export function isTargetOf(target: {
  path: string;
  sizeBytes: number;
  sha256: string;
  custom: unknown;
}): target is Target {
  const { path, sizeBytes, sha256, custom } = target;
  if (!Number.isSafeInteger(sizeBytes) || sizeBytes <= 0 || !hex64.test(sha256)) return false;
  if (typeof custom !== 'object' || custom === null) return false;
  const { name, attachment, program, version, platform, from_sha256, to_sha256 } = custom as Record<string, unknown>;
  if (isText(attachment) && isText(program) && isText(version) && isText(platform)) {
    const of = { name: program, version, platform };
    return (
      isProgramOf(of) && isAttachmentKind(attachment) && path === attachmentTargetPath({ kind: attachment, ...of })
    );
  }
  if (isText(name) && isText(version) && isText(platform)) {
    return isProgramOf({ name, version, platform }) && path === programTargetPath({ name, version, platform });
  }
  if (isText(from_sha256) && isText(to_sha256)) {
    return (
      hex64.test(from_sha256) &&
      hex64.test(to_sha256) &&
      path === patchTargetPath({ fromSha256: from_sha256, toSha256: to_sha256 })
    );
  }
  return false;
}
