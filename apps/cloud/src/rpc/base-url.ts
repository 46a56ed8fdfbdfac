import type { HandlerContext } from '@connectrpc/connect';
import type { Deps } from './routes.ts';

/** Address for links in an answer: the one configured, else the one by which the caller came (scheme, host and port). */
export function baseUrlOf(
  { publicUrl, listensAt }: Pick<Deps, 'publicUrl' | 'listensAt'>,
  context: Pick<HandlerContext, 'url' | 'requestHeader'>,
): string {
  if (publicUrl !== undefined) return publicUrl;
  const host = context.requestHeader.get('host') ?? (URL.canParse(context.url) ? new URL(context.url).host : '');
  return baseUrlFrom(listensAt(), host, context.url.startsWith('https:'));
}

export function baseUrlFrom(listensAt: string, host: string, isSecure: boolean): string {
  const base = `${isSecure ? 'https' : 'http'}://${host}`;
  return host !== '' && URL.canParse(base) ? base : listensAt;
}
