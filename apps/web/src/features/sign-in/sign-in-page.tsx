import { BrandMark } from '../../ui/brand.tsx';
import { HowToSignIn } from '../../ui/how-to-sign-in.tsx';
import { Note } from '../../ui/messages.tsx';

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
