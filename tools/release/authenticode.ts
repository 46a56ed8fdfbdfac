import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** Who signs, as Windows shows it to users. */
export interface Signer {
  /** The certificate and the authorities between it and a root, PEM. */
  readonly certificates: string;
  /** The private key, PEM; for a key in hardware, its PKCS #11 URI. */
  readonly key: string;
  /** Library of the hardware that holds the key; undefined: the key is a file. */
  readonly pkcs11Module?: string | undefined;
  /** Service that confirms the time, RFC 3161; undefined: the signature ends with the certificate. */
  readonly timestampUrl?: string | undefined;
}

/** Why a file cannot be signed. */
export class NotSigned extends Error {}

/**
 * Signs an .exe or .msi in place, and renews its `.sha256` and `.json` where they are: sign before the file is published
 * or packed.
 *
 * @throws NotSigned
 */
export function signForWindows(file: string, signer: Signer): void {
  if (!/\.(exe|msi)$/.test(file)) throw new NotSigned(`${file} is no .exe and no .msi.`);
  for (const needed of [file, signer.certificates, ...(signer.pkcs11Module === undefined ? [signer.key] : [])])
    if (!existsSync(needed)) throw new NotSigned(`${needed} does not exist.`);
  if (isSigned(file))
    throw new NotSigned(`${file} is signed already. Build it again to sign it with another certificate.`);
  const out = `${file}.signed`;
  rmSync(out, { force: true });
  try {
    const { certificates, key, pkcs11Module, timestampUrl } = signer;
    const args = ['sign', '-h', 'sha256', '-n', 'Platform agent', '-certs', certificates, '-key', key];
    if (pkcs11Module !== undefined) args.push('-pkcs11module', pkcs11Module);
    if (timestampUrl !== undefined) args.push('-ts', timestampUrl);
    const done = osslsigncode(...args, '-in', file, '-out', out);
    if (done.status !== 0 || !existsSync(out)) throw new NotSigned(`${file} could not be signed: ${reasonOf(done)}`);
    renameSync(out, file);
  } finally {
    rmSync(out, { force: true });
  }
  renewFacts(file);
}

/** Whether the file carries a signature, valid or not. */
const isSigned = (file: string): boolean => !/no signature/i.test(reasonOf(osslsigncode('verify', '-in', file)));

/** Checks the signature of a file against an authority. @throws NotSigned with the reason */
export function verifySignature(file: string, authority: string): void {
  const done = osslsigncode('verify', '-CAfile', authority, '-in', file);
  if (done.status !== 0) throw new NotSigned(`${file}: ${reasonOf(done)}`);
}

function osslsigncode(...args: string[]) {
  const done = spawnSync('osslsigncode', args, { encoding: 'utf8' });
  if (done.error && 'code' in done.error && done.error.code === 'ENOENT')
    throw new NotSigned('The program osslsigncode is missing. Install it: apt install osslsigncode');
  return done;
}

const reasonOf = ({ stdout, stderr }: { stdout: string; stderr: string }): string =>
  `${stdout}\n${stderr}`
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(-6)
    .join(' · ');

function renewFacts(file: string): void {
  const bytes = readFileSync(file);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  if (existsSync(`${file}.sha256`)) writeFileSync(`${file}.sha256`, `${sha256}  ${path.basename(file)}\n`);
  if (!existsSync(`${file}.json`)) return;
  const about = JSON.parse(readFileSync(`${file}.json`, 'utf8')) as object;
  writeFileSync(`${file}.json`, `${JSON.stringify({ ...about, sha256, size: bytes.length })}\n`);
  rmSync(`${file}.stamp`, { force: true }); // the next build makes an unsigned one
}
