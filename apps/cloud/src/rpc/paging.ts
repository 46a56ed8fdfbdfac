import { invalidArgument } from './rules/invalid-argument.ts';

/** Page tokens are opaque to clients: they contain the last ID of the previous page. */
export const pageToken = (lastId: number): string => Buffer.from(`after ${lastId}`).toString('base64url');

/** @throws PlatformError INVALID_ARGUMENT for a token that this server did not create. */
export function parsePageToken(token: string | undefined): number | undefined {
  if (!token) return undefined;
  const found = /^after (\d{1,15})$/.exec(Buffer.from(token, 'base64url').toString());
  if (!found) throw invalidArgument('page_token', token.slice(0, 40), 'pass the token of the page before');
  return Number(found[1]);
}
