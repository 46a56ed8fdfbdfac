import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { atomicWrite, readJson } from '@platform/kit/node';
import { places } from './places.ts';

/** Options of the management server, as its options file holds them. */
export interface ServerOptions {
  readonly data_dir?: string;
  readonly host?: string;
  readonly port?: number;
  readonly public_url?: string;
  readonly tls_cert?: string;
  readonly tls_key?: string;
  readonly tls_authority?: string;
  readonly trusted_proxy?: string;
  readonly allow_plaintext?: boolean;
  readonly database_url?: string;
  readonly backup_dir?: string;
  readonly backup_by_host?: boolean;
  readonly [other: string]: unknown;
}

export const optionsFile = path.join(places.settings, 'server.json');

/** Empty: there is no such file. */
export const readServerOptions = async (): Promise<ServerOptions> =>
  ((await readJson(optionsFile)) ?? {}) as ServerOptions;

/** @returns whether the file changed. */
export async function writeIfOther(
  file: string,
  value: object | string,
  { mode, owner }: { mode: number; owner?: { uid: number; gid: number } },
): Promise<boolean> {
  const text = typeof value === 'string' ? value : `${JSON.stringify(value, null, 1)}\n`;
  if ((await readFile(file, 'utf8').catch(() => undefined)) === text) return false;
  await atomicWrite(file, text, { mode, owner });
  return true;
}
