// What a WPA2-enterprise network needs: an authority, the authentication server in hostapd with its users, and clients.
import { writeFile } from 'node:fs/promises';
import { issue, type Issued, tempFolder } from '@platform/kit/testing';
import type { VirtualMachine } from './machine.ts';

export const user = { name: 'barn', password: 'in the hay' } as const;
export const authenticationServer = 'radius.office.test';

const year = 365 * 86_400_000;

export interface Enterprise {
  /** Folder on the machine with the files of the authentication server. */
  readonly folder: string;
  /** PEM of the authority that issued all certificates. */
  readonly authority: string;
  /** PEM of an authority of another organization. */
  readonly otherAuthority: string;
  readonly client: Issued;
  /** Its certificate ended a year ago. */
  readonly expired: Issued;
}

const users = ['* PEAP,TTLS,TLS', `"${user.name}" MSCHAPV2,TTLS-PAP,TTLS-MSCHAPV2 "${user.password}" [2]`, ''].join(
  '\n',
);

/** Writes the files of the authentication server to the machine. */
export async function enterpriseOn(machine: VirtualMachine, now: number): Promise<Enterprise> {
  const valid = { from: now - 10 * year, to: now + 10 * year };
  const authorityOf = (name: string): Issued => issue({ name, ...valid, authority: true, keyUsage: [5, 6] });
  const by = authorityOf('Authority of the office');
  const server = issue({ name: authenticationServer, ...valid, by, dns: [authenticationServer] });
  const files = { 'authority.pem': by.cert, 'server.pem': server.cert, 'server-key.pem': server.key, users };
  await using temporary = await tempFolder();
  for (const [name, text] of Object.entries(files)) await writeFile(temporary.file(name), text);
  const folder = '/root/authentication';
  await machine.push(folder, ...Object.keys(files).map((name) => temporary.file(name)));
  return {
    folder,
    authority: by.cert,
    otherAuthority: authorityOf('Authority of another office').cert,
    client: issue({ name: user.name, ...valid, by }),
    expired: issue({ name: user.name, from: now - 2 * year, to: now - year, by }),
  };
}
