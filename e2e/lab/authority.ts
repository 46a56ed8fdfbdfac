// The certificate of the lab's server: of an authority that is made for each run, and that no machine knows.
import { createHash } from 'node:crypto';
import { issue } from '@platform/kit/testing';
import { serverName } from './machine.ts';

export interface LabCertificate {
  /** The server's own, then the authority, PEM. */
  readonly cert: string;
  readonly key: string;
  readonly authority: string;
  /** Of the authority, as the install line names it. */
  readonly sha256: string;
}

/** ms since 1970. */
export interface Validity {
  from: number;
  to: number;
}
/** Snapshots of machines are some days old: it holds long before and after now. */
const longValidity: Validity = { from: Date.UTC(2020, 0, 1), to: Date.UTC(2120, 0, 1) };

export function labCertificate(validity: Validity = longValidity): LabCertificate {
  const by = issue({ name: 'Authority of the lab', ...validity, authority: true, keyUsage: [5, 6] });
  const { cert, key } = issue({ name: serverName, ...validity, by, dns: [serverName] });
  const sha256 = createHash('sha256').update(by.cert).digest('hex');
  return { cert: `${cert}${by.cert}`, key, authority: by.cert, sha256 };
}
