import { sql } from 'kysely';
import { errorText } from '@platform/kit';
import type { Deps } from '../rpc/routes.ts';
import { type Route, sendText } from './exchange.ts';

/** /livez, also /healthz: the process turns. /readyz: the database answers, and nobody has asked us to stop. */
export const healthRoutes = ({ db, stop, log }: Pick<Deps, 'db' | 'stop' | 'log'>): Route[] => [
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
      try {
        await sql`select 1`.execute(db);
        sendText(response, 200, 'ok\n');
      } catch (error) {
        log.warn('not ready', { error: errorText(error) });
        sendText(response, 503, 'the database does not answer\n');
      }
    },
  },
];
