import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { type AttachmentKind, attachmentFiles, attachmentTargetPath } from '@platform/contract/releases/target-path';
import { PlatformError } from '@platform/contract/errors/errors';
import { readRoot, readTargets, targetsOf } from '@platform/releases/documents';
import { attachmentLimitBytes, checkSbom } from '@platform/releases/sbom';
import type { ProgramWords } from '@platform/releases/targets';

/** A file that describes a program, from beside it. */
export interface Attachment extends ProgramWords {
  readonly kind: AttachmentKind;
  readonly bytes: Buffer<ArrayBuffer>;
  readonly sha256: string;
}

const kinds = Object.keys(attachmentFiles) as AttachmentKind[];
const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/**
 * The SBOM and the list of licenses that the build wrote beside a program; programs of others may have none.
 *
 * @throws PlatformError RELEASE_ATTACHMENT_REFUSED if they are another program's
 */
export async function readAttachments(program: ProgramWords & { file: string; sha256: string }): Promise<Attachment[]> {
  const { name, version, platform, file } = program;
  const attachments: Attachment[] = [];
  for (const kind of kinds) {
    const bytes = await readFile(`${file.replace(/\.gz$/, '')}.${attachmentFiles[kind]}`).catch((error: unknown) => {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (bytes === undefined) continue;
    if (bytes.length > attachmentLimitBytes) throw tooLarge(kind, program, bytes.length);
    if (kind === 'sbom') checkSbom(bytes, program);
    attachments.push({ name, version, platform, kind, bytes, sha256: sha256Of(bytes) });
  }
  return attachments;
}

const tooLarge = (kind: AttachmentKind, { name, version, platform }: ProgramWords, sizeBytes: number): PlatformError =>
  new PlatformError('RELEASE_ATTACHMENT_REFUSED', {
    kind,
    name,
    version,
    platform,
    problem: `it has ${sizeBytes} bytes, the limit is ${attachmentLimitBytes}`,
  });

/**
 * Checks a downloaded attachment against the signed list of files.
 *
 * @param root - the trusted root document, which names the keys of the list.
 * @throws PlatformError RELEASE_ATTACHMENT_REFUSED
 */
export function checkAttachment(
  bytes: Uint8Array,
  of: ProgramWords & { kind: AttachmentKind },
  { root, targets }: { root: Uint8Array; targets: Uint8Array },
): void {
  const { kind, name, version, platform } = of;
  const refuse = (problem: string, cause?: unknown): never => {
    throw new PlatformError('RELEASE_ATTACHMENT_REFUSED', { kind, name, version, platform, problem }, cause);
  };
  try {
    readRoot(root).verifyDelegate('targets', readTargets(targets));
  } catch (error) {
    refuse('the list of files is not signed by the keys of the root document', error);
  }
  const listed = targetsOf(targets);
  const entry = listed.find(({ path }) => path === attachmentTargetPath(of));
  if (!entry) return refuse('the signed list of files does not name it');
  if (entry.sizeBytes !== bytes.length || entry.sha256 !== sha256Of(bytes))
    refuse(`it has sha256 ${sha256Of(bytes)}, the signed list of files names ${entry.sha256}`);
  const program = listed.find(({ custom }) => 'name' in custom && isSame(custom, of));
  if (kind === 'sbom' && program) checkSbom(bytes, { name, version, platform, sha256: program.sha256 });
}

const isSame = (a: ProgramWords, b: ProgramWords): boolean =>
  a.name === b.name && a.version === b.version && a.platform === b.platform;
