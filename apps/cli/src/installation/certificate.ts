// The certificate of an installed server. It is copied, because its key is often readable by root only; the hourly
// maintenance copies a renewed one.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors/errors';
import { errorText } from '@platform/kit';
import { readPemSync, systemClock } from '@platform/kit/node';
import type { Account } from './accounts.ts';
import { places } from './places.ts';
import { writeIfOther } from './server-options.ts';

/** Files that the user named. */
export interface CertificateFiles {
  readonly certificate: string;
  readonly key: string;
}

export const installedCertificate: CertificateFiles = {
  certificate: path.join(places.settings, 'tls/certificate.pem'),
  key: path.join(places.settings, 'tls/key.pem'),
};

interface Pair {
  readonly certificate: string;
  readonly key: string;
  /** DNS names and addresses, as the certificate has them. */
  readonly leaf: X509Certificate;
}

/** @throws PlatformError CERTIFICATE_UNUSABLE: expired, not valid yet, or not of this key. */
export function readPair(files: CertificateFiles, nowMs = systemClock.wall()): Pair {
  const certificate = read(files.certificate);
  const key = read(files.key);
  const refuse = (problem: string, file = files.certificate): never => {
    throw new PlatformError('CERTIFICATE_UNUSABLE', { file, problem });
  };
  const leaf = parse(files.certificate, () => new X509Certificate(certificate));
  const privateKey = parse(files.key, () => createPrivateKey(key));
  if (!leaf.checkPrivateKey(privateKey)) refuse(`the key in ${files.key} belongs to another certificate`);
  if (leaf.validToDate.getTime() < nowMs) refuse(`it expired on ${leaf.validToDate.toISOString()}`);
  if (leaf.validFromDate.getTime() > nowMs) refuse(`it is valid only from ${leaf.validFromDate.toISOString()} on`);
  return { certificate, key, leaf };
}

function read(file: string): string {
  return parse(file, () => readPemSync(file));
}

function parse<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new PlatformError('CERTIFICATE_UNUSABLE', { file, problem: errorText(error) }, error);
  }
}

/** @returns whether the installed files changed. */
export async function installCertificate(pair: Pair, owner: Account): Promise<boolean> {
  const before = await writeIfOther(installedCertificate.key, pair.key, { mode: 0o600, owner });
  const after = await writeIfOther(installedCertificate.certificate, pair.certificate, { mode: 0o644 });
  return before || after;
}
