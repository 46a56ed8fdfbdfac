import { useMutation, useQuery } from '@connectrpc/connect-query';
import { SessionService } from '@platform/contract/gen/platform/session/v1/session_pb';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { SignInPage } from './pages/sign-in-page.tsx';
import { FailureNote, Loading } from './parts/messages.tsx';
import { type Session, SessionContext } from './session.tsx';
import { isSignedOut } from './view/failures.ts';

/** The key under which the browser stores the chosen organization between visits. */
const choiceKey = 'platform-organization';

/** Shows the pages to signed-in users, and the sign-in page to others. */
export function SessionGate({ children }: { children: ReactNode }) {
  const who = useQuery(SessionService.method.whoAmI, {}, { retry: false, staleTime: 60_000 });
  const [chosen, setChosen] = useState(() => localStorage.getItem(choiceKey) ?? '');
  const leave = useMutation(SessionService.method.signOut, { onSettled: () => window.location.assign('/') });
  if (who.isPending) return <Loading />;
  if (isSignedOut(who.error)) return <SignInPage />;
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
  return <SessionContext value={session}>{children}</SessionContext>;
}
