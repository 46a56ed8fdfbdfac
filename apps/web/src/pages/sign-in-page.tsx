import { BrandMark } from '../parts/brand.tsx';
import { Command } from '../parts/copying.tsx';
import { Note } from '../parts/messages.tsx';

/** Users sign in with a link; this page explains how to get one. */
export function SignInPage({ isWithoutOrganization = false }: { isWithoutOrganization?: boolean }) {
  const isLinkUsed = new URLSearchParams(window.location.search).get('link') === 'used';
  return (
    <main className="solo">
      <div className="solo-card card card-body">
        <BrandMark />
        <h1>{isWithoutOrganization ? 'No organization' : 'Sign in'}</h1>
        {isWithoutOrganization ? (
          <p className="soft">
            You are signed in, but not a member of any organization. Ask an owner to add you, then open a new link:
          </p>
        ) : (
          <p className="soft">You sign in with a link that works once. In the folder of the server, run:</p>
        )}
        {isLinkUsed && (
          <Note tone="warn">
            <p>That link was used before or is too old. Make a new one.</p>
          </Note>
        )}
        <HowToSignIn />
      </div>
    </main>
  );
}

export const HowToSignIn = () => (
  <>
    <Command text="npm run -s platform -- sign-in" />
    <p className="soft">
      Then open the link that it prints in this browser. The first link is also printed by <code>npm start</code>. This
      page goes on by itself.
    </p>
    <p className="soft small">
      If a link was used or has expired, make a new one the same way. From another computer, set{' '}
      <code>PLATFORM_URL</code>, <code>PLATFORM_API_KEY_ID</code> and <code>PLATFORM_API_KEY</code> first.
    </p>
  </>
);
