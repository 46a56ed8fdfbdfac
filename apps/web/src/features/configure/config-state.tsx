import type { ReactNode } from 'react';
import { Note } from '../../ui/messages.tsx';
import { Ago } from '../../ui/time.tsx';
import type { MachineView } from '../../entities/machine/machine-status.ts';

interface ConfigStateProps {
  machine: MachineView;
  /** The revision in the editor. */
  base: bigint;
  isDirty: boolean;
  justSaved: bigint | undefined;
}

/** Shows the progress of the configuration: in the editor, saved, on the machine. */
export function ConfigState({ machine, base, isDirty, justSaved }: ConfigStateProps) {
  const { config } = machine;
  const unsaved = isDirty && <span className="soft"> · with changes that are not saved yet</span>;
  if (justSaved !== undefined)
    return (
      <Note tone={config.saved === justSaved ? config.tone : 'busy'} isLive>
        <p>
          Saved as revision {String(justSaved)} ·{' '}
          {config.saved === justSaved ? <Effect machine={machine} /> : 'waiting for the machine …'}
          {unsaved}
        </p>
      </Note>
    );
  if (base === 0n || isDirty)
    return (
      <Quiet>
        {isDirty && 'Not saved yet. '}
        {base > 0n && `Started from revision ${base}.`}
        {base === 0n && !isDirty && 'Nothing was saved yet: the machine runs with the defaults.'}
      </Quiet>
    );
  if (base !== config.saved) return <Quiet>Revision {String(base)} · a newer one is saved</Quiet>;
  const text = (
    <>
      Revision {String(base)} · <Effect machine={machine} />
    </>
  );
  // A failure must not look like the usual state.
  if (config.tone === 'good' || config.tone === 'quiet' || config.tone === 'busy') return <Quiet>{text}</Quiet>;
  return (
    <Note tone={config.tone} isLive>
      <p>{text}</p>
    </Note>
  );
}

const Quiet = ({ children }: { children: ReactNode }) => (
  <p className="soft" role="status">
    {children}
  </p>
);

function Effect({ machine: { config, lastSeen, isOnline, slices } }: { machine: MachineView }) {
  if (config.isInEffect)
    return (
      <>
        {config.effect.replace('in effect', 'in effect on the machine')}
        {config.isPartly && ineffectiveText(slices.flatMap(({ paths }) => paths))}
        {config.since !== undefined && (
          <span className="soft">
            {' '}
            · since <Ago at={config.since} />
          </span>
        )}
      </>
    );
  return (
    <>
      {config.effect}
      {!isOnline && lastSeen !== undefined && (
        <>
          , last seen <Ago at={lastSeen} />
        </>
      )}
    </>
  );
}

/** The fields without effect, as far as the line has room. */
function ineffectiveText(paths: readonly string[]): string {
  if (paths.length === 0) return '';
  return `: ${paths.slice(0, 2).join(', ')}${paths.length > 2 ? ` and ${paths.length - 2} more have` : paths.length > 1 ? ' have' : ' has'} no effect`;
}
