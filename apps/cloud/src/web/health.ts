import type { Log } from '@platform/kit';
import type { CertificateProblem } from '../tls/in-use.ts';
import { type Route, sendText } from '../wire/exchange.ts';

/** Load balancers and probes have timeouts of a few seconds, so the response must come earlier. */
const answerMs = 1_500;

/**
 * /livez and /healthz: the process responds. /readyz: the database answers, and the server is not stopping. Lines with
 * a problem or a notice follow.
 */
export const healthRoutes = ({
  isAnswering,
  stop,
  log,
  certificate,
}: {
  isAnswering: (limitMs: number) => Promise<boolean>;
  stop: AbortSignal;
  log: Log;
  certificate: () => { problems: readonly CertificateProblem[]; isStrictTransport: boolean };
}): Route[] => [
  {
    methods: ['GET', 'HEAD'],
    path: /^\/(?:livez|healthz)$/,
    answer: async ({ response }) => sendText(response, 200, 'ok\n'),
  },
  {
    methods: ['GET', 'HEAD'],
    path: /^\/readyz$/,
    async answer({ response }) {
      if (stop.aborted) return sendText(response, 503, 'stopping\n');
      const isReady = await isAnswering(answerMs);
      // Certificate problems do not make the server unready: removing it from a load balancer would not fix them.
      const notices = certificate().problems.map(({ text, isFatal }) => `${isFatal ? 'problem' : 'notice'}: ${text}\n`);
      if (isReady) return sendText(response, 200, `ok\n${notices.join('')}`);
      log.warn('not ready: the database does not answer');
      sendText(response, 503, 'the database does not answer\n');
    },
  },
];
