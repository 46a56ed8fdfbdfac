import type { Membership } from '@platform/contract/gen/platform/session/v1/session_pb';
import { createContext, useContext } from 'react';

export interface Session {
  /** The user or key that is signed in. */
  id: string;
  name: string;
  organization: Membership;
  organizations: readonly Membership[];
  serverVersion: string;
  choose: (organizationId: string) => void;
  signOut: () => void;
}

export const SessionContext = createContext<Session | undefined>(undefined);

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === undefined) throw new Error('A page was drawn outside of the session.');
  return session;
}
