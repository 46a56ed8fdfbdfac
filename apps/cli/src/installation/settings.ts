import { existsSync } from 'node:fs';
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors/errors';
import { readJson } from '@platform/kit/node';
import type { Accounts } from './accounts.ts';
import { type CertificateFiles, installCertificate, installedCertificate, readPair } from './certificate.ts';
import { places } from './places.ts';
import { askSettings, openTerminal, requireUrl } from './questions.ts';
import { checkBackupFolder } from './scheduled-backups.ts';
import { optionsFile, readServerOptions, type ServerOptions, writeIfOther } from './server-options.ts';
import { currentLink } from './state.ts';

export interface SettingFlags {
  readonly publicUrl?: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly tlsAuthority?: string;
  readonly host?: string;
  readonly port?: string;
  readonly trustedProxy?: string;
  readonly allowPlaintext?: boolean;
  readonly orgName?: string;
  readonly backupDir?: string;
  readonly backupEveryHours?: string;
  readonly backupKeep?: string;
}

/** Where the certificate came from. */
export const sourcesFile = path.join(places.settings, 'certificate-source.json');

/** Asks at a terminal for what a first installation needs and no flag says. */
export async function askMissing(flags: SettingFlags): Promise<SettingFlags> {
  const isKnown =
    Object.keys(await readServerOptions()).length > 0 || flags.tlsCert !== undefined || flags.allowPlaintext;
  if (isKnown) return flags;
  using terminal = openTerminal();
  return terminal === undefined ? flags : await askSettings(flags, terminal);
}

/** Settings that were checked and are not written yet. */
export interface Settings {
  readonly options: ServerOptions;
  readonly pair: ReturnType<typeof readPair> | undefined;
  readonly sources: CertificateFiles | undefined;
  readonly warnings: readonly string[];
}

/** The stored settings with the flags. @throws PlatformError INVALID_ARGUMENT, CERTIFICATE_UNUSABLE */
export async function readSettings(flags: SettingFlags): Promise<Settings> {
  const before = await readServerOptions();
  if ((flags.tlsCert === undefined) !== (flags.tlsKey === undefined)) {
    const field = flags.tlsCert === undefined ? '--tls-cert' : '--tls-key';
    throw new PlatformError('INVALID_ARGUMENT', { field, limit: 'certificate and key belong together' });
  }
  const given =
    flags.tlsCert !== undefined && flags.tlsKey !== undefined
      ? { certificate: path.resolve(flags.tlsCert), key: path.resolve(flags.tlsKey) }
      : undefined;
  const sources = given ?? ((await readJson(sourcesFile)) as CertificateFiles | undefined);
  const pair = sources === undefined ? undefined : readPair(sources);
  const port = flags.port === undefined ? before.port : numberOf('--port', flags.port, { from: 1, to: 65_535 });
  const { certificate, key } = installedCertificate;
  const options: ServerOptions = {
    host: pair || flags.allowPlaintext ? everywhere() : '127.0.0.1',
    ...before,
    data_dir: path.join(places.data, 'cloud'),
    web_dir: path.join(currentLink, 'apps/web/dist'),
    ...(flags.host !== undefined && { host: flags.host }),
    ...(given && before.tls_cert === undefined && flags.host === undefined && { host: everywhere() }),
    port: port ?? (pair ? 443 : 8080),
    ...(pair && { tls_cert: certificate, tls_key: key }),
    ...(flags.publicUrl !== undefined && { public_url: flags.publicUrl }),
    ...(flags.tlsAuthority !== undefined && { tls_authority: path.resolve(flags.tlsAuthority) }),
    ...(flags.trustedProxy !== undefined && { trusted_proxy: flags.trustedProxy }),
    ...(flags.allowPlaintext && { allow_plaintext: true }),
    ...(flags.orgName !== undefined && { org_name: flags.orgName }),
    ...backupOptions(flags),
  };
  if (options.backup_dir !== undefined && options.backup_by_host) checkBackupFolder(options.backup_dir);
  return { options, pair, sources, warnings: warningsOf(options, pair) };
}

function backupOptions({ backupDir, backupEveryHours, backupKeep }: SettingFlags): ServerOptions {
  return {
    ...(backupDir !== undefined && { backup_dir: path.resolve(backupDir), backup_by_host: true }),
    ...(backupEveryHours !== undefined && {
      backup_every_hours: numberOf('--backup-every-hours', backupEveryHours, { from: 1, to: 8_760 }),
    }),
    ...(backupKeep !== undefined && { backup_keep: numberOf('--backup-keep', backupKeep, { from: 1, to: 100_000 }) }),
  };
}

/** All addresses of this host, of both families where there are two. */
const everywhere = (): string => (existsSync('/proc/net/if_inet6') ? '::' : '0.0.0.0');

function numberOf(field: string, text: string, { from, to }: { from: number; to: number }): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isInteger(value) && value >= from && value <= to) return value;
  throw new PlatformError('INVALID_ARGUMENT', { field, value: text, limit: `a number from ${from} to ${to}` });
}

function warningsOf({ public_url }: ServerOptions, pair: Settings['pair']): string[] {
  if (public_url === undefined) return [];
  requireUrl('--public-url', public_url);
  const { hostname } = new URL(public_url);
  if (!pair || pair.leaf.checkHost(hostname) !== undefined || pair.leaf.checkIP(hostname) !== undefined) return [];
  return [
    `The certificate is not valid for ${hostname} (${pair.leaf.subjectAltName ?? 'it has no names'}). Machines refuse it, unless a proxy in front has another one.`,
  ];
}

/** @returns what changed. */
export async function writeSettings({ options, pair, sources }: Settings, { server }: Accounts): Promise<string[]> {
  const changed: string[] = [];
  if (pair && (await installCertificate(pair, server))) changed.push('certificate');
  if (sources) await writeIfOther(sourcesFile, sources, { mode: 0o644 });
  const owner = { uid: 0, gid: server.gid };
  if (await writeIfOther(optionsFile, options, { mode: 0o640, owner })) changed.push(optionsFile);
  return changed;
}
