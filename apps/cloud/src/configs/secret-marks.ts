import { createHash, createHmac } from 'node:crypto';
import { revealedSecrets } from '@platform/contract/config/placeholders';

/**
 * Identifies the content of a configuration: the sha256 of a text without secrets. With secrets it needs the key:
 * otherwise a reader, who knows the rest of the text, could try out short passwords on it.
 *
 * @param fragments - hashes of the fragments that are merged into it.
 */
export function contentHash(text: string, key: Buffer, fragments: readonly Uint8Array[] = []): Buffer {
  const own =
    revealedSecrets(text).length === 0
      ? createHash('sha256').update(text).digest()
      : createHmac('sha256', key).update(`configuration\0${text}`).digest();
  if (fragments.length === 0) return own;
  const all = createHash('sha256').update('fragments\0').update(own);
  for (const one of fragments) all.update(one);
  return all.digest();
}

/** The secrets of a configuration without their values. Equal marks: equal values, within one part. */
export const secretMarks = (text: string, { partId, key }: { partId: string; key: Buffer }) =>
  revealedSecrets(text).map(({ path, value }) => ({
    path,
    mark: createHmac('sha256', key).update(`secret\0${partId}\0${value}`).digest('base64url').slice(0, 16),
  }));
