import { useMutation, useQuery } from '@connectrpc/connect-query';
import { SessionService } from '@platform/contract/gen/platform/session/v1/session_pb';
import { useQueryClient } from '@tanstack/react-query';
import { lazy, Suspense, useEffect, useRef, useState } from 'react';
import type { ReactNode } from 'react';
import { draftQueries } from '../features/configure/draft/draft-store.ts';
import { SignInPage } from '../features/sign-in/sign-in-page.tsx';
import { FailureNote, Loading } from '../ui/messages.tsx';
import { type Session, SessionContext } from '../entities/session/session.tsx';
import { isSignedOut } from '../ui/failures.ts';

const SignInAgain = lazy(async () => ({
  default: (await import('../features/sign-in/sign-in-again.tsx')).SignInAgain,
}));

/** The key under which the browser stores the chosen organization between visits. */
const choiceKey = 'platform-organization';

/** How often a page without a session asks whether the user has signed in, for example in another tab. */
const signInPollMs = 3000;

/**
 * Shows the pages to signed-in users, and the sign-in page to others. A session that ends while a page is open shows the
 * sign-in above it: what was typed stays.
 */
export function SessionGate({ children }: { children: ReactNode }) {
  const who = useQuery(
    SessionService.method.whoAmI,
    {},
    {
      retry: false,
      staleTime: 60_000,
      refetchInterval: ({ state }) => isSignedOut(state.error) && signInPollMs,
    },
  );
  const isOut = isSignedOut(who.error);
  useRefetchAfter(isOut);
  const [chosen, setChosen] = useState(() => localStorage.getItem(choiceKey) ?? '');
  const leave = useMutation(SessionService.method.signOut, { onSettled: () => window.location.assign('/') });
  if (who.isPending) return <Loading />;
  if (isOut && who.data === undefined) return <SignInPage />;
  if (who.data === undefined) {
    const again = (
      <button type="button" className="button" onClick={() => void who.refetch()}>
        Try again
      </button>
    );
    return (
      <main className="solo">
        <div className="solo-card">
          <h1>Platform</h1>
          <FailureNote error={who.error} action={again} />
        </div>
      </main>
    );
  }
  const { memberships, name, id, serverVersion } = who.data;
  const organization = memberships.find((one) => one.organizationId === chosen) ?? memberships[0];
  if (organization === undefined) return <SignInPage isWithoutOrganization />;
  const session: Session = {
    id,
    name: name || id,
    organization,
    organizations: memberships,
    serverVersion,
    choose: (organizationId) => {
      localStorage.setItem(choiceKey, organizationId);
      setChosen(organizationId);
    },
    signOut: () => leave.mutate({}),
  };
  // Another user who signs in gets pages of their own.
  return (
    <SessionContext key={id} value={session}>
      {children}
      {isOut && (
        <Suspense>
          <SignInAgain name={session.name} onSignOut={() => window.location.assign('/')} />
        </Suspense>
      )}
    </SessionContext>
  );
}

/** Loads again what failed, or stopped to refresh, without a session. */
function useRefetchAfter(isOut: boolean): void {
  const queries = useQueryClient();
  const wasOut = useRef(false);
  useEffect(() => {
    if (wasOut.current && !isOut)
      void queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== draftQueries });
    wasOut.current = isOut;
  }, [queries, isOut]);
}
