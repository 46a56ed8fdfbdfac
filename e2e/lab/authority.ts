// The certificate of the lab's server: each run creates its authority, which no machine trusts.
import { createHash } from 'node:crypto';
import { issue } from '@platform/kit/testing';
import { serverName } from './machine.ts';

export interface LabCertificate {
  /** PEM: the server's certificate, then the authority. */
  readonly cert: string;
  readonly key: string;
  readonly authority: string;
  /** The authority's hash, as the install line names it. */
  readonly sha256: string;
}

/** ms since 1970. */
export interface Validity {
  from: number;
  to: number;
}
/** The clock of a restored snapshot is some days behind: the validity extends far in both directions. */
const longValidity: Validity = { from: Date.UTC(2020, 0, 1), to: Date.UTC(2120, 0, 1) };

export function labCertificate(validity: Validity = longValidity): LabCertificate {
  const by = issue({ name: 'Authority of the lab', ...validity, authority: true, keyUsage: [5, 6] });
  const { cert, key } = issue({ name: serverName, ...validity, by, dns: [serverName] });
  const sha256 = createHash('sha256').update(by.cert).digest('hex');
  return { cert: `${cert}${by.cert}`, key, authority: by.cert, sha256 };
}
