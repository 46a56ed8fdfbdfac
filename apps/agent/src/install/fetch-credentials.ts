import { PlatformError } from '@platform/contract/errors/errors';
import { fragmentHeader } from '@platform/contract/provisioning/set-up-code';
import { installerHeader, isInstallKey, keyHeader, keyIdHeader } from '@platform/contract/provisioning/install-key';
import { parseCredentials } from '@platform/contract/machine-server/machine-server';
import { decodeText, errorText, isNotText, within, type Clock, type Secret } from '@platform/kit';
import { readText } from '@platform/kit/node';
import type { FoundCredentials } from './facts.ts';

const answerMs = 20_000;
const limitBytes = 64 * 1024;

export interface ApiKey {
  id: string;
  key: Secret;
  /** With a one-time key: the installation that may use it again after a failure. */
  installer?: string | undefined;
}

/**
 * Fetches the credentials file of a part from the management server at `url`.
 *
 * @param of - `fragmentId`: see `fragmentOf`; only a one-time key acts on it.
 * @throws PlatformError OFFLINE, INVALID_CREDENTIALS, INSTALL_KEY_INVALID, PERMISSION_DENIED, PART_NOT_FOUND, CREDENTIALS_UNUSABLE
 */
export async function fetchCredentials(
  { url, partId, apiKey, fragmentId = '' }: { url: string; partId: string; apiKey: ApiKey; fragmentId?: string },
  clock: Clock,
  send: typeof fetch = fetch,
): Promise<{ text: string; partId: string; appAddress: string }> {
  const address = new URL(`${url.replace(/\/+$/, '')}/api/json1/config`);
  address.searchParams.set('client', 'true');
  address.searchParams.set('id', partId);
  const unusable = (problem: string): PlatformError =>
    new PlatformError('CREDENTIALS_UNUSABLE', { source: address.origin, problem });
  let status: number;
  let text: string;
  try {
    ({ status, text } = await within(answerMs, { what: 'the answer', clock }, async (signal) => {
      const headers = {
        [keyIdHeader]: apiKey.id,
        [keyHeader]: apiKey.key.reveal(),
        ...(apiKey.installer !== undefined && { [installerHeader]: apiKey.installer }),
        ...(fragmentId !== '' && { [fragmentHeader]: fragmentId }),
      };
      const answer = await send(address, { headers, redirect: 'manual', signal });
      return { status: answer.status, text: await limited(answer) };
    }));
  } catch (error) {
    if (error instanceof PlatformError) throw error;
    throw new PlatformError('OFFLINE', { url: address.origin, problem: errorText(error) }, error);
  }
  if (status === 401)
    throw new PlatformError(isInstallKey(apiKey.key.reveal()) ? 'INSTALL_KEY_INVALID' : 'INVALID_CREDENTIALS');
  if (status === 403) throw new PlatformError('PERMISSION_DENIED', { resource: `part ${partId}` });
  if (status === 404) throw new PlatformError('PART_NOT_FOUND', { partId });
  if (status >= 500) throw new PlatformError('OFFLINE', { url: address.origin, problem: `it answers ${status}` });
  if (status !== 200) throw unusable(`it answers ${status}; is this the address of the management server?`);
  const parsed = parseCredentials(text);
  if (!parsed.ok) throw unusable(`${parsed.problem}; is this the address of the management server?`);
  if (parsed.value.partId !== partId) throw unusable(`it answers for part ${parsed.value.partId}`);
  return { text, partId, appAddress: parsed.value.appAddress };

  async function limited(answer: Response): Promise<string> {
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of (answer.body ?? []) as AsyncIterable<Uint8Array>) {
      size += chunk.length;
      if (size > limitBytes) throw unusable('its answer is too long');
      chunks.push(chunk);
    }
    try {
      return decodeText(Buffer.concat(chunks));
    } catch (error) {
      throw unusable(errorText(error));
    }
  }
}

/** What the file holds. @throws the error of the operating system if it exists and cannot be read */
export async function findCredentials(file: string): Promise<FoundCredentials> {
  try {
    return foundCredentials(await readText(file));
  } catch (error) {
    if (isNotText(error)) return { at: 'unusable', problem: error.message };
    if (error instanceof Error && 'code' in error && ['ENOENT', 'ENOTDIR'].includes(String(error.code)))
      return { at: 'none' };
    throw error;
  }
}

/** @param text - undefined: the file does not exist. */
export function foundCredentials(text: string | undefined): FoundCredentials {
  if (text === undefined) return { at: 'none' };
  const parsed = parseCredentials(text);
  if (!parsed.ok) return { at: 'unusable', problem: parsed.problem };
  const { partId, appAddress, authority } = parsed.value;
  return { at: 'usable', text, partId, appAddress, ...(authority !== undefined && { authority }) };
}
