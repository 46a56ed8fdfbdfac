import { createConnectQueryKey, TransportProvider } from '@connectrpc/connect-query';
import { SessionService } from '@platform/contract/gen/platform/session/v1/session_pb';
import { browserClock } from '@platform/kit/web';
import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { createRouter, RouterProvider } from '@tanstack/react-router';
import { options } from 'preact';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { ContactProvider } from '../ui/contact.tsx';
import { DraftsProvider } from '../features/configure/draft/use-draft-store.tsx';
import { ErrorPage } from '../ui/error-page.tsx';
import { Loading } from '../ui/messages.tsx';
import { TimeProvider } from '../ui/time.tsx';
import { browserDrafts } from '../features/configure/draft/draft-store.ts';
import { routeTree } from './routes.tsx';
import { serverTransport } from './rpc.ts';
import { serverContact } from './server-contact.ts';
import { isLasting, isSignedOut } from '../ui/failures.ts';

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof appRouter>;
  }
}

// Effects of a click follow it at once, as with React, not after the next frame: what comes next finds them done.
options.requestAnimationFrame = queueMicrotask;

// A <title> of a page stands in the body, where browsers ignore it.
const { diffed } = options;
options.diffed = (vnode) => {
  if (vnode.type === 'title') {
    const text = [vnode.props.children].flat().join('');
    if (text.endsWith('Platform')) document.title = text;
  }
  diffed?.(vnode);
};

const appRouter = () =>
  createRouter({
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
const root = createRoot(place);

/** In tasks of their own: on a slow processor, modules, routes and the first page together keep the browser busy too long. */
async function start(): Promise<void> {
  await browserClock.sleep(1);
  const router = appRouter();
  await browserClock.sleep(1);
  root.render(
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
}

void start();
