import type { Log } from '@platform/kit';
import type { CertificateProblem } from '../tls/in-use.ts';
import { type Route, sendText } from '../wire/exchange.ts';

/** Load balancers and probes ask with limits of a few seconds: they get an answer before. */
const answerMs = 1_500;

/** /livez, also /healthz: the process turns. /readyz: the database answers, and nobody has asked us to stop. Lines with a problem or a notice follow. */
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
      // A load balancer could mend nothing by turning callers away.
      const notices = certificate().problems.map(({ text, isFatal }) => `${isFatal ? 'problem' : 'notice'}: ${text}\n`);
      if (isReady) return sendText(response, 200, `ok\n${notices.join('')}`);
      log.warn('not ready: the database does not answer');
      sendText(response, 503, 'the database does not answer\n');
    },
  },
];
