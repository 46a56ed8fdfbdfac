/**
 * The URL by which a machine or user reached the server. It has a port, because some clients cannot dial without one.
 */
function withPort(base: string): string {
  const url = new URL(base);
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  return `${url.protocol}//${url.hostname}:${port}`;
}

/**
 * Content of a machine's credentials file: URL of its server, ID and secret.
 *
 * @param authority - PEM certificate that machines trust in addition to those of their system.
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

/** Host name of a part, similar to `main.<location>.local`, for clients that show or dial one. */
export const partAddress = (partName: string, locationId: string, domain: string): string =>
  `${partName.toLowerCase().replace(/[^a-z0-9-]+/g, '-')}.${locationId}.${domain}`;
