import { Dialog } from 'radix-ui';
import { isolateText } from '../../ui/user-text.ts';
import { HowToSignIn } from '../../ui/how-to-sign-in.tsx';

/** The sign-in above a page whose session has ended. The page stays as it is, with what was typed. */
export const SignInAgain = ({ name, onSignOut }: { name: string; onSignOut: () => void }) => (
  <Dialog.Root open>
    <Dialog.Portal>
      <Dialog.Overlay className="overlay overlay-opaque" />
      <Dialog.Content
        className="dialog"
        onEscapeKeyDown={(event) => event.preventDefault()}
        onInteractOutside={(event) => event.preventDefault()}
      >
        <Dialog.Title>Sign in again</Dialog.Title>
        <Dialog.Description className="soft">
          The session of {isolateText(name)} has ended. What you typed is still here. In the folder of the server, run:
        </Dialog.Description>
        <HowToSignIn />
        <div className="dialog-footer">
          <button type="button" className="button" onClick={onSignOut}>
            Leave this page
          </button>
        </div>
      </Dialog.Content>
    </Dialog.Portal>
  </Dialog.Root>
);
