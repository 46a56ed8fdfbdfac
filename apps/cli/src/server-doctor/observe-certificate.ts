import { X509Certificate, createPrivateKey } from 'node:crypto';
import { isIP } from 'node:net';
import { getCACertificates } from 'node:tls';
import { errorText } from '@platform/kit';
import { readPem } from '@platform/kit/node';
import { readIdentity } from '../installation/public-url.ts';
import type { CertificateSeen, FoundServer, PublicUrlSeen, Validity } from './observations.ts';

const certificates = (pem: string): X509Certificate[] =>
  (pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []).map(
    (one) => new X509Certificate(one),
  );

/** The certificate in the files that the server uses. */
export async function observeCertificate({ options, publicUrl }: FoundServer): Promise<CertificateSeen | undefined> {
  const { tls_cert: file, tls_key: keyFile, tls_authority: authorityFile } = options;
  if (file === undefined) return undefined;
  try {
    const chain = certificates(await readPem(file));
    const [leaf] = chain;
    if (!leaf) return { file, problem: 'it holds no certificate in PEM' };
    const key = keyFile === undefined ? undefined : createPrivateKey(await readPem(keyFile));
    const named = [authorityFile, options['tls_known_authority']].filter((one) => typeof one === 'string');
    const own = (await Promise.all(named.map((one) => readPem(one)))).flatMap(certificates);
    return {
      file,
      ...validity(leaf, publicUrl),
      isOfKey: key === undefined || leaf.checkPrivateKey(key),
      missingIssuer: missingIssuer(chain, own),
    };
  } catch (error) {
    return { file, problem: errorText(error) };
  }
}

function validity(of: X509Certificate, publicUrl: string | undefined): Validity {
  const from = of.validFromDate.getTime();
  const until = of.validToDate.getTime();
  const names = of.subjectAltName?.replaceAll(/DNS:|IP Address:/g, '') ?? 'no name';
  if (publicUrl?.startsWith('https:') !== true || !URL.canParse(publicUrl))
    return { from, until, names, isForHost: undefined };
  const host = new URL(publicUrl).hostname.replace(/^\[|\]$/g, '');
  const covered = isIP(host) ? of.checkIP(host) : of.checkHost(host);
  return { from, until, names, isForHost: covered !== undefined };
}

const isIssuedBy = (one: X509Certificate, by: X509Certificate): boolean =>
  one.checkIssued(by) && one.verify(by.publicKey);

/** Follows the chain of a file in its order. @returns the name of the issuer at which it breaks off. */
function missingIssuer(
  [leaf, ...others]: readonly X509Certificate[],
  own: readonly X509Certificate[],
): string | undefined {
  if (!leaf) return undefined;
  const system = (['default', 'system'] as const).flatMap((kind) => getCACertificates(kind));
  const follow = (one: X509Certificate, left: readonly X509Certificate[]): string | undefined => {
    if (isIssuedBy(one, one)) return undefined;
    const next = left.find((by) => isIssuedBy(one, by));
    if (next)
      return follow(
        next,
        left.filter((by) => by !== next),
      );
    const known = [...own, ...new Set(system).values().map((pem) => new X509Certificate(pem))];
    if (known.some((by) => isIssuedBy(one, by))) return undefined;
    return nameOf(one.issuer);
  };
  return follow(leaf, others);
}

const nameOf = (distinguished: string): string =>
  /^CN=(.*)$/m.exec(distinguished)?.[1] ?? distinguished.replaceAll('\n', ', ');

/** Asks the public URL as a machine would, and compares what answers with the server on this host. */
export async function observePublicUrl(
  { publicUrl: url, localUrl, pid }: FoundServer,
  now: () => number,
): Promise<PublicUrlSeen | undefined> {
  if (url === undefined) return undefined;
  if (!URL.canParse(url) || !/^https?:/.test(url))
    return { url, leadsTo: 'nothing', problem: 'it is not a URL', aheadMs: undefined, certificate: undefined };
  const own =
    pid === undefined || localUrl === undefined ? undefined : await readIdentity(localUrl).catch(() => undefined);
  try {
    const before = now();
    const there = await readIdentity(url);
    const aheadMs = Number.isNaN(there.date) ? undefined : Math.round((before + now()) / 2 - there.date);
    const certificate = there.certificate && { ...validity(there.certificate, url), distrust: there.distrust };
    return { url, aheadMs, certificate, ...compared(there, own) };
  } catch (error) {
    return { url, leadsTo: 'nothing', problem: errorText(error), aheadMs: undefined, certificate: undefined };
  }
}

type Content = { readonly status: number; readonly body: string };

function compared(there: Content, own: Content | undefined): Pick<PublicUrlSeen, 'leadsTo' | 'problem'> {
  if (there.status === 200 && own?.status === 200)
    return { leadsTo: there.body === own.body ? 'this' : 'other', problem: '' };
  if (there.status === 200 && own?.status === 404) return { leadsTo: 'other', problem: '' };
  // Both have no releases, or this one cannot be asked.
  if (there.status === 404 && own?.status === 200) return { leadsTo: 'other', problem: '' };
  if (there.status === 404 || there.status === 200)
    return { leadsTo: 'unknown', problem: own ? 'neither has releases yet' : 'this server does not answer' };
  return { leadsTo: 'nothing', problem: `status ${there.status}` };
}
