import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { useLostSince } from './contact.tsx';
import { Loading, Note } from './messages.tsx';

interface LoadedLaterProps<Module> {
  /** Names the part of the app among others. */
  name: string;
  load: () => Promise<Module>;
  /** Holds its place before, so that nothing moves. */
  className: string;
  /** Shown before, and while it cannot be fetched. */
  instead?: ReactNode;
  children: (module: Module) => ReactNode;
}

/** Without contact, nothing is fetched: a browser never tries a module again that it could not fetch. */
function useLoaded<Module>(name: string, load: () => Promise<Module>, isNeeded = true) {
  const isLost = useLostSince() !== undefined;
  return useQuery({
    queryKey: ['part of the app', name],
    queryFn: load,
    enabled: isNeeded && !isLost,
    staleTime: Infinity,
    gcTime: Infinity,
    retry: false,
    networkMode: 'always',
    structuralSharing: false,
  });
}

const NotFetched = () => (
  <Note
    tone="bad"
    isLive
    action={
      <button type="button" className="button button-small" onClick={() => window.location.reload()}>
        Reload the page
      </button>
    }
  >
    <p>This part of the page could not be fetched.</p>
  </Note>
);

/** A part of the app that is fetched when it is first shown. */
export function LoadedLater<Module>({ name, load, className, instead, children }: LoadedLaterProps<Module>) {
  const { data, error } = useLoaded(name, load);
  if (data !== undefined) return children(data);
  if (!error) return <div className={className}>{instead ?? <Loading />}</div>;
  return (
    <div className={className}>
      <NotFetched />
      {instead}
    </div>
  );
}

interface OpensLaterProps<Module> {
  /** Names the part of the app among others. */
  name: string;
  load: () => Promise<Module>;
  /** What stands on the button, here and in `children`. */
  button: ReactNode;
  /** The look of the button. */
  className?: string;
  kind: 'dialog' | 'menu';
  isDisabled?: boolean;
  /** The same button, open. */
  children: (module: Module) => ReactNode;
}

/** A button whose menu is fetched as soon as the pointer or the focus reaches it, and opens when it is pressed. */
export function OpensLater<Module>(props: OpensLaterProps<Module>) {
  const { name, load, button, className = 'button', kind, isDisabled = false, children } = props;
  const [isNear, setNear] = useState(false);
  const [isPressed, setPressed] = useState(false);
  const { data, error } = useLoaded(name, load, isNear);
  if (isPressed && data !== undefined) return children(data);
  return (
    <>
      <button
        type="button"
        className={className}
        disabled={isDisabled}
        aria-haspopup={kind}
        aria-expanded={false}
        aria-busy={isPressed && !error}
        onPointerEnter={() => setNear(true)}
        onFocus={() => setNear(true)}
        onClick={() => {
          setNear(true);
          setPressed(true);
        }}
      >
        {button}
      </button>
      {isPressed && error && <NotFetched />}
    </>
  );
}
