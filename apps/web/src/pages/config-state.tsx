import { useEffect, useState } from 'react';
import { Note } from '../parts/messages.tsx';
import { Ago, useClock } from '../parts/time.tsx';
import type { MachineView } from '../view/machine-status.ts';

interface ConfigStateProps {
  machine: MachineView;
  /** The revision in the editor. */
  base: bigint;
  isDirty: boolean;
  justSaved: bigint | undefined;
}

/** Shows the progress of the configuration: in the editor, saved, on the machine. */
export function ConfigState({ machine, base, isDirty, justSaved }: ConfigStateProps) {
  const { applied } = machine;
  const isApplied = applied.at === 'applied' && applied.revision >= base && base > 0n;
  const isPartly = applied.at === 'applied' && applied.isPartly;
  const appliedSince = useSince(isApplied && justSaved !== undefined, justSaved);
  const unsaved = isDirty && <span className="soft"> · with changes that are not saved yet</span>;
  if (justSaved === undefined) {
    return (
      <p className="soft" role="status">
        {isDirty ? 'Not saved yet. ' : base === 0n ? 'Nothing was saved yet: the machine runs with the defaults.' : ''}
        {base > 0n &&
          (isDirty
            ? `Started from revision ${base}.`
            : `Revision ${base} · ${isApplied ? (isPartly ? `partly in effect on the machine${partsText(machine)}` : 'in effect on the machine') : waitingText(machine)}`)}
      </p>
    );
  }
  return isApplied ? (
    <Note tone={isPartly ? 'warn' : 'good'} isLive>
      <p>
        Saved as revision {String(justSaved)} · {isPartly && 'partly '}applied on the machine{' '}
        <Ago at={appliedSince} otherwise="now" />
        {unsaved}
      </p>
    </Note>
  ) : (
    <Note tone="busy" isLive>
      <p>
        Saved as revision {String(justSaved)} · {waitingText(machine)}
        {unsaved}
      </p>
    </Note>
  );
}

/** The fields without effect, as far as the line has room. */
function partsText({ slices }: MachineView): string {
  const paths = slices.flatMap((slice) => slice.paths);
  if (paths.length === 0) return '';
  return `: ${paths.slice(0, 2).join(', ')}${paths.length > 2 ? ` and ${paths.length - 2} more have` : paths.length > 1 ? ' have' : ' has'} no effect`;
}

function waitingText(machine: MachineView): string {
  if (machine.applied.at === 'received')
    return `revision ${machine.applied.received} received; the agent of another product does not report what is in effect`;
  const lagging = machine.slices.find(({ state, code }) => state === 'lagging' && code !== '');
  if (machine.isOnline && lagging) return `not in effect: ${lagging.reason}`;
  if (machine.isOnline) return 'the machine is applying it …';
  return machine.hasReport
    ? 'the machine applies it when it is online again'
    : 'the machine applies it when its agent connects for the first time';
}

/** When the condition became true while the page was open; reports carry no time for it. */
function useSince(isTrue: boolean, revision: bigint | undefined): number | undefined {
  const clock = useClock();
  const [since, setSince] = useState<number>();
  useEffect(() => setSince(isTrue ? clock.wall() : undefined), [clock, isTrue, revision]);
  return since;
}
