import type { Cell } from '@platform/kit';
import { createContext, useContext } from 'react';
import type { ReactNode } from 'react';
import { type Contact, knownState, lostSince } from './server-contact.ts';
import type { StatusLabel } from './status-label.ts';
import { bothMoments } from './times.ts';
import { Note } from './messages.tsx';
import { Ago, useNow } from './time.tsx';

const LostContext = createContext<number | undefined>(undefined);

/** Gives all pages whether the server answers, as of this second. */
export function ContactProvider({ contact, children }: { contact: Cell<Contact>; children: ReactNode }) {
  return <LostContext value={lostSince(contact.get(), useNow())}>{children}</LostContext>;
}

/** Since when the server has not answered, in ms since 1970; undefined: it answers. */
export const useLostSince = (): number | undefined => useContext(LostContext);

/** The state of a machine as far as the page can know it. */
export const useKnownState = (state: StatusLabel): StatusLabel => knownState(state, useLostSince() !== undefined);

/** Says on every page that what it shows is old. */
export function LostContact() {
  const since = useLostSince();
  if (since === undefined) return null;
  return (
    <div className="lost-contact">
      <Note tone="bad" isLive>
        <p>
          The server does not answer. This page shows what was known{' '}
          <strong title={bothMoments(since)}>
            <Ago at={since} />
          </strong>
          . <span className="soft">It goes on by itself as soon as the server answers.</span>
        </p>
      </Note>
    </div>
  );
}
