import { callUnaryMethod, useTransport } from '@connectrpc/connect-query';
import { secretPlaceholder, secretTokens } from '@platform/contract/config/placeholders';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { parseJson } from '@platform/contract/text/json-object';
import { useMemo, useState } from 'react';
import type { ReactNode } from 'react';
import { ModalDialog } from '../../ui/dialogs.tsx';
import { FailureNote } from '../../ui/messages.tsx';
import { type Reveal, RevealProvider, useRevealed } from '../../ui/secrets.tsx';
import { failureOf } from '../../ui/failures.ts';
import { formatCount } from '../../ui/quantities.ts';
import { HowToSignIn } from '../../ui/how-to-sign-in.tsx';

interface RevealSecretsProps {
  partId: string;
  /** The revision whose secrets the placeholders of the draft stand for. */
  revision: bigint;
  draft: string;
  children: ReactNode;
}

interface Refused {
  path: string;
  error: unknown;
  answer: (value: string | undefined) => void;
}

/** Shows saved secrets to owners who signed in a short while ago; others read how to. */
export function RevealSecrets({ partId, revision, draft, children }: RevealSecretsProps) {
  const transport = useTransport();
  const [refused, setRefused] = useState<Refused>();
  const ask = async (path: string): Promise<string | undefined> => {
    const request = { partId, revision, paths: [path], configJson: draft };
    const { secrets } = await callUnaryMethod(transport, FleetService.method.revealSecrets, request);
    return secrets[0]?.value;
  };
  const reveal: Reveal = (path) =>
    ask(path).catch((error: unknown) => new Promise((answer) => setRefused({ path, error, answer })));
  const again = async ({ path, answer }: Refused): Promise<void> => {
    try {
      answer(await ask(path));
      setRefused(undefined);
    } catch (error) {
      setRefused({ path, error, answer });
    }
  };
  const close = ({ answer }: Refused): void => {
    answer(undefined);
    setRefused(undefined);
  };
  return (
    <RevealProvider value={{ reveal, source: `${revision} ${draft}` }}>
      {children}
      {refused && <RefusedDialog {...refused} onAgain={() => void again(refused)} onClose={() => close(refused)} />}
    </RevealProvider>
  );
}

interface RefusedDialogProps {
  error: unknown;
  onAgain: () => void;
  onClose: () => void;
}
function RefusedDialog({ error, onAgain, onClose }: RefusedDialogProps) {
  const needsSignIn = failureOf(error).code === 'SIGN_IN_NOT_RECENT';
  return (
    <ModalDialog title={needsSignIn ? 'Sign in again to see it' : 'It cannot be shown'} isOpen onClose={onClose}>
      <FailureNote error={error} />
      {needsSignIn && <HowToSignIn />}
      <div className="dialog-footer">
        <button type="button" className="button" onClick={onClose}>
          Close
        </button>
        <button type="button" className="button button-main" onClick={onAgain}>
          Try again
        </button>
      </div>
    </ModalDialog>
  );
}

/** The saved secrets of the text in the editor, for those who write JSON. */
export function SavedSecrets({ draft }: { draft: string }) {
  const paths = useMemo(() => savedPaths(draft), [draft]);
  if (paths.length === 0) return null;
  return (
    <details className="card saved-secrets">
      <summary>{formatCount(paths.length, 'saved secret')}</summary>
      <ul>
        {paths.map((path) => (
          <SavedSecret key={path} path={path} />
        ))}
      </ul>
    </details>
  );
}

const savedPaths = (text: string): string[] =>
  parseJson(text) === undefined
    ? []
    : secretTokens(text).flatMap(({ path, raw }) => (raw === JSON.stringify(secretPlaceholder) ? [path] : []));

function SavedSecret({ path }: { path: string }) {
  const { value, toggle } = useRevealed(path);
  return (
    <li>
      <span className="mono small break">{path}</span>
      <button type="button" className="button button-small" aria-pressed={value !== undefined} onClick={toggle}>
        {value === undefined ? 'Reveal' : 'Hide'}
        <span className="hidden-text"> {path}</span>
      </button>
      <output className="mono small break">{value}</output>
    </li>
  );
}
