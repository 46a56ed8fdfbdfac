import type { Transport } from '@connectrpc/connect';
import { TransportProvider } from '@connectrpc/connect-query';
import type { Cell } from '@platform/kit';
import { browserClock } from '@platform/kit/web';
import { type QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { createRouter, RouterProvider } from '@tanstack/react-router';
import { options } from 'preact';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { ContactProvider } from '../ui/contact.tsx';
import { DraftsProvider } from '../features/configure/draft/use-draft-store.tsx';
import { ErrorPage } from '../ui/error-page.tsx';
import { Loading } from '../ui/messages.tsx';
import { type AppStart, AppStartProvider } from '../ui/next-task.tsx';
import type { Contact } from '../ui/server-contact.ts';
import { TimeProvider } from '../ui/time.tsx';
import { browserDrafts } from '../features/configure/draft/draft-store.ts';
import { routeTree } from './routes.tsx';

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

interface Served {
  queries: QueryClient;
  transport: Transport;
  contact: Cell<Contact>;
}

/** Routes and first page in tasks of their own, as in main.ts. See docs/decisions/0168-start-in-tasks.md. */
export async function drawApp({ queries, transport, contact }: Served): Promise<void> {
  const place = document.getElementById('root');
  if (place === null) throw new Error('index.html has no element with the id "root".');
  const root = createRoot(place);
  const drafts = browserDrafts();
  const appStart: AppStart = { isOver: false };
  await browserClock.sleep(1);
  const router = appRouter();
  // The modules of the page come beside the first drawing, not after it.
  const [matched] = router.getMatchedRoutes(window.location.pathname);
  for (const route of matched) void router.loadRouteChunk(route);
  router.subscribe('onBeforeLoad', ({ fromLocation, pathChanged }) => {
    if (fromLocation !== undefined && pathChanged) appStart.isOver = true;
  });
  await browserClock.sleep(1);
  root.render(
    <StrictMode>
      <TransportProvider transport={transport}>
        <QueryClientProvider client={queries}>
          <TimeProvider clock={browserClock}>
            <ContactProvider contact={contact}>
              <DraftsProvider value={drafts}>
                <AppStartProvider value={appStart}>
                  <RouterProvider router={router} />
                </AppStartProvider>
              </DraftsProvider>
            </ContactProvider>
          </TimeProvider>
        </QueryClientProvider>
      </TransportProvider>
    </StrictMode>,
  );
}
