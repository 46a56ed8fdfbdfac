import { useEffect, useRef } from 'react';
import { LoadedLater } from '../../../ui/loaded-later.tsx';

/** Opens the list, which is fetched then: the page shows what is wrong now without it. */
export const ConditionsButton = ({ onPress }: { onPress: () => void }) => (
  <>
    {' · '}
    <button type="button" className="link-button" aria-expanded={false} onClick={onPress}>
      Mute and history of conditions
    </button>
  </>
);

/** It has the focus that its button had. */
export function ConditionsLater({ machineId }: { machineId: string }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => place.current?.focus({ preventScroll: true }), []);
  return (
    <div ref={place} tabIndex={-1}>
      <LoadedLater
        name="conditions of a machine"
        load={() => import('../../../entities/condition/machine-conditions.tsx')}
        className="card"
      >
        {({ MachineConditions }) => <MachineConditions machineId={machineId} />}
      </LoadedLater>
    </div>
  );
}
