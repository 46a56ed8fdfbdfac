import './conditions.css';
import { ConditionState } from '@platform/contract/gen/platform/conditions/v1/conditions_pb';
import { useState } from 'react';
import { useLostSince } from '../../ui/contact.tsx';
import { FailureNote, Loading } from '../../ui/messages.tsx';
import { Ago } from '../../ui/time.tsx';
import { msOf } from '../../ui/times.ts';
import { ConditionRow, LateNote } from './condition-parts.tsx';
import { useConditions, useIsCurrent } from './condition-query.ts';

const states = [
  [ConditionState.OPEN, 'Open'],
  [ConditionState.MUTED, 'Muted'],
  [ConditionState.ENDED, 'History'],
] as const;

/** The conditions of one machine, for its page: open and muted ones, and those that ended. */
export function MachineConditions({ machineId }: { machineId: string }) {
  const [state, setState] = useState<ConditionState>(ConditionState.OPEN);
  const { data, error, dataUpdatedAt } = useConditions({ machineId, state, pageSize: 50 });
  const isCurrent = useIsCurrent(dataUpdatedAt) && data?.measurementLate === false;
  // The frame says that the server does not answer.
  const isLost = useLostSince() !== undefined && data !== undefined;
  return (
    <section className="card" aria-labelledby="machine-conditions">
      <div className="card-head">
        <h2 id="machine-conditions">Needs attention</h2>
        <span className="small soft">
          measured <Ago at={msOf(data?.measuredOn)} otherwise="not yet" />
        </span>
        <div className="segments push" role="group" aria-label="Which conditions">
          {states.map(([value, name]) => (
            <button
              key={value}
              type="button"
              className="segment"
              aria-pressed={state === value}
              onClick={() => setState(value)}
            >
              {name}
            </button>
          ))}
        </div>
      </div>
      {error && !isLost && <FailureNote error={error} />}
      <LateNote isLate={data?.measurementLate} />
      {data === undefined ? (
        !error && <Loading />
      ) : data.conditions.length === 0 ? (
        <p className="condition-none soft">{isCurrent ? 'None.' : 'None were known.'}</p>
      ) : (
        <ul className="conditions">
          {data.conditions.map((one) => (
            <ConditionRow key={one.id} condition={one} hasName={false} />
          ))}
        </ul>
      )}
    </section>
  );
}
