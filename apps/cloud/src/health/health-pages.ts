import { mayReadMetrics } from '../access/rules/permissions.ts';
import { type Exchange, type Route, sendText } from '../wire/exchange.ts';
import { isFromThisHost } from '../wire/this-host.ts';
import { linesOf, type Readiness } from './readiness.ts';

/** /livez and /healthz: the process responds. /readyz: it works, in one word; more for those who may know it. */
export function healthRoutes({ readiness }: { readiness: () => Promise<Readiness> }): Route[] {
  return [
    {
      methods: ['GET', 'HEAD'],
      path: /^\/(?:livez|healthz)$/,
      answer: async ({ response }) => sendText(response, 200, 'ok\n'),
    },
    {
      methods: ['GET', 'HEAD'],
      path: /^\/readyz$/,
      async answer(exchange) {
        const found = await readiness();
        const { word } = found;
        const lines = linesOf(found);
        const shown = (await mayReadDetails(exchange)) ? [word, ...lines] : [word];
        const isReady = word === 'ok' || word === 'degraded';
        sendText(exchange.response, isReady ? 200 : 503, `${shown.join('\n')}\n`, { 'cache-control': 'no-store' });
      },
    },
  ];
}

/** Wrong credentials count as none: probes must get their answer. */
async function mayReadDetails(exchange: Exchange): Promise<boolean> {
  if (isFromThisHost(exchange.request)) return true;
  const { headers } = exchange.request;
  if (headers.authorization === undefined && headers['key'] === undefined && headers.cookie === undefined) return false;
  return exchange.caller().then(mayReadMetrics, () => false);
}
