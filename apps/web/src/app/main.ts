// The app begins in two tasks, each with its file: on a slow processor, all modules of the first page in one task keep
// the browser busy too long. This one asks the server who the user is, the other one draws.
// See docs/decisions/0168-start-in-tasks.md.
import { createConnectQueryKey, createQueryOptions } from '@connectrpc/connect-query';
import { SessionService } from '@platform/contract/gen/platform/session/v1/session_pb';
import { browserClock } from '@platform/kit/web';
import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';
import { serverTransport } from './rpc.ts';
import { serverContact } from './server-contact.ts';
import { isLasting, isSignedOut } from '../ui/failures.ts';

const whoAmI = createConnectQueryKey({ schema: SessionService.method.whoAmI, cardinality: 'finite' });
// The first call that fails with an expired session makes the gate show the sign-in.
const askWho = (error: unknown): void => {
  if (isSignedOut(error)) void queries.invalidateQueries({ queryKey: whoAmI });
};
const queries: QueryClient = new QueryClient({
  queryCache: new QueryCache({
    onError: (error, query) => {
      if (!JSON.stringify(query.queryKey).includes('"WhoAmI"')) askWho(error);
    },
  }),
  mutationCache: new MutationCache({ onError: askWho }),
  defaultOptions: {
    queries: { retry: (count, error) => count < 2 && !isLasting(error), staleTime: 1000, networkMode: 'always' },
    mutations: { networkMode: 'always' },
  },
});

const { contact, interceptor } = serverContact(browserClock);
const transport = serverTransport(interceptor);
// Asked at once, beside the modules of the page: nothing is drawn before the answer.
void queries.prefetchQuery(createQueryOptions(SessionService.method.whoAmI, {}, { transport }));

async function start(): Promise<void> {
  const { drawApp } = await import('./app.tsx');
  await drawApp({ queries, transport, contact });
}

void start();
