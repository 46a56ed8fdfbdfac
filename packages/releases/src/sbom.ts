import { PlatformError } from '@platform/contract/errors/errors';
import { decodeText, isNotText } from '@platform/kit';

/** Far above the size of real ones, 25 KiB and 150 KiB. */
export const attachmentLimitBytes = 4 << 20;

interface Program {
  readonly name: string;
  readonly version: string;
  readonly platform: string;
  /** 64 hex digits. */
  readonly sha256: string;
}

/**
 * Checks that a software bill of materials describes these bytes of a program.
 *
 * @throws PlatformError RELEASE_ATTACHMENT_REFUSED
 */
export function checkSbom(bytes: Uint8Array, { name, version, platform, sha256 }: Program): void {
  const refuse = (problem: string, cause?: unknown): never => {
    throw new PlatformError('RELEASE_ATTACHMENT_REFUSED', { kind: 'sbom', name, version, platform, problem }, cause);
  };
  const document = recordOf(parsed(bytes, refuse));
  if (document['bomFormat'] !== 'CycloneDX') refuse('it is not a CycloneDX document in JSON');
  const of = recordOf(recordOf(document['metadata'])['component']);
  if (of['name'] !== name || of['version'] !== version)
    refuse(`it describes ${textOf(of['name'])} ${textOf(of['version'])}`);
  const hashes = Array.isArray(of['hashes']) ? of['hashes'].map(recordOf) : [];
  const named = hashes.find(({ alg }) => alg === 'SHA-256')?.['content'];
  if (named !== sha256) refuse(`it describes a file with sha256 ${textOf(named)}, the program has ${sha256}`);
}

function parsed(bytes: Uint8Array, refuse: (problem: string, cause?: unknown) => never): unknown {
  try {
    return JSON.parse(decodeText(bytes));
  } catch (error) {
    return refuse(isNotText(error) ? error.message : 'it is not JSON', error);
  }
}

const recordOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};

const textOf = (value: unknown): string => (typeof value === 'string' ? value.slice(0, 80) : 'nothing');
