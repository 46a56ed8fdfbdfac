import { useKnownState } from '../../../ui/contact.tsx';
import { Dot } from '../../../ui/badges.tsx';
import { ChevronIcon } from '../../../ui/icons.tsx';
import { machineBadge } from '../../../entities/machine/machine-status.ts';
import type { MachineView } from '../../../entities/machine/machine-status.ts';

/** What stands on the button of the part status: the most severe state. */
export function StatusWords({ machine }: { machine: MachineView }) {
  const badge = machineBadge(machine);
  const state = useKnownState(machine.online);
  return (
    <>
      <span className="hidden-text">Part status: </span>
      <Dot tone={state.tone} />
      {state.text}
      {badge && <span className={`badge is-${badge.tone}`}>{badge.text}</span>}
      <ChevronIcon />
    </>
  );
}

/** What stands on the button of the menu. */
export const MoreWords = () => (
  <>
    More
    <ChevronIcon />
  </>
);
