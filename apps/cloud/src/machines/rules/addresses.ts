/** The address that a machine or a person used to reach us, always with its port: some clients cannot dial without one. */
function withPort(base: string): string {
  const url = new URL(base);
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  return `${url.protocol}//${url.hostname}:${port}`;
}

/**
 * The file that a machine gets: where its server is and who it is.
 *
 * @param authority - vouches for the server beside those of the system, PEM.
 */
export function credentialsFile(appAddress: string, part: { id: string; secret: string }, authority?: string): string {
  const vouched = authority !== undefined && appAddress.startsWith('https:');
  const cloud = {
    app_address: withPort(appAddress),
    id: part.id,
    secret: part.secret,
    ...(vouched && { certificate_authority: authority }),
  };
  return `${JSON.stringify({ cloud }, null, 2)}\n`;
}

/** `main.<location>.local`-like name of a part, for clients that show or dial one. */
export const partAddress = (partName: string, locationId: string, domain: string): string =>
  `${partName.toLowerCase().replace(/[^a-z0-9-]+/g, '-')}.${locationId}.${domain}`;
