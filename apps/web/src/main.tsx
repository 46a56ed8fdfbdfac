import { createConnectQueryKey, TransportProvider } from '@connectrpc/connect-query';
import { SessionService } from '@platform/contract/gen/platform/session/v1/session_pb';
import { browserClock } from '@platform/kit/web';
import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { createRouter, RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { ContactProvider } from './parts/contact.tsx';
import { DraftsProvider } from './parts/drafts.tsx';
import { ErrorPage } from './parts/error-page.tsx';
import { Loading } from './parts/messages.tsx';
import { TimeProvider } from './parts/time.tsx';
import { browserDrafts } from './draft-store.ts';
import { routeTree } from './routes.tsx';
import { serverTransport } from './rpc.ts';
import { serverContact } from './server-contact.ts';
import { isLasting, isSignedOut } from './view/failures.ts';

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}

const router = createRouter({
  routeTree,
  defaultPreload: 'intent',
  scrollRestoration: true,
  defaultPendingComponent: () => <Loading />,
  defaultErrorComponent: ({ error }) => <ErrorPage error={error} />,
});

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
const drafts = browserDrafts();
const place = document.getElementById('root');
if (place === null) throw new Error('index.html has no element with the id "root".');
createRoot(place).render(
  <StrictMode>
    <TransportProvider transport={serverTransport(interceptor)}>
      <QueryClientProvider client={queries}>
        <TimeProvider clock={browserClock}>
          <ContactProvider contact={contact}>
            <DraftsProvider value={drafts}>
              <RouterProvider router={router} />
            </DraftsProvider>
          </ContactProvider>
        </TimeProvider>
      </QueryClientProvider>
    </TransportProvider>
  </StrictMode>,
);
