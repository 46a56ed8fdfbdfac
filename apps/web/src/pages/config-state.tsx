import { Note } from '../parts/messages.tsx';
import { Ago } from '../parts/time.tsx';
import type { MachineView } from '../view/machine-status.ts';

interface ConfigStateProps {
  machine: MachineView;
  /** The revision in the editor. */
  base: bigint;
  isDirty: boolean;
  justSaved: bigint | undefined;
}

/** How far the configuration has come: in the editor, saved, on the machine. */
export function ConfigState({ machine, base, isDirty, justSaved }: ConfigStateProps) {
  const { applied } = machine;
  const start = isDirty
    ? 'Not saved yet.'
    : base === 0n
      ? 'Nothing was saved yet: the machine runs with the defaults.'
      : '';
  if (start !== '' && justSaved === undefined) {
    return (
      <p className="soft" role="status">
        {start} {base > 0n && `Started from revision ${base}.`}
      </p>
    );
  }
  const head = justSaved === undefined ? `Revision ${base}` : `Saved as revision ${justSaved}`;
  const isApplied = applied.at === 'applied' && applied.revision >= (justSaved ?? base);
  if (isApplied) {
    const line = (
      <p>
        {head} · applied on the machine <Ago at={applied.since} otherwise="" />
        {isDirty && <span className="soft"> · with changes that are not saved yet</span>}
      </p>
    );
    return justSaved === undefined ? (
      <div className="soft" role="status">
        {line}
      </div>
    ) : (
      <Note tone="good" isLive>
        {line}
      </Note>
    );
  }
  return (
    <Note tone="busy" isLive>
      <p>
        {head} ·{' '}
        {machine.isOnline
          ? 'the machine is taking it over …'
          : machine.hasReport
            ? 'the machine takes it over when it is online again'
            : 'the machine takes it over when its agent connects for the first time'}
        {isDirty && <span className="soft"> · with changes that are not saved yet</span>}
      </p>
    </Note>
  );
}
