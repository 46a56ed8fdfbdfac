import type { Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { Ago } from '../../../ui/time.tsx';
import { UserText } from '../../../ui/isolated-text.tsx';
import { bootedAt, factRows } from './facts.ts';
import { msOf } from '../../../ui/times.ts';

/** The hardware and the operating system of a machine, as of its last report. */
export function FactsCard({ machine }: { machine: Machine }) {
  const rows = factRows(machine);
  const booted = bootedAt(machine);
  if (rows.length === 0) return null;
  return (
    <section className="card" aria-label="Machine">
      <div className="card-head">
        <h2>Machine</h2>
        <span className="soft small">
          as of <Ago at={msOf(machine.reportedOn)} />
        </span>
      </div>
      <div className="card-body">
        <dl className="pair-list">
          {rows.map(([label, value]) => (
            <div key={label}>
              <dt>{label}</dt>
              <dd className="break">
                <UserText text={value} />
              </dd>
            </div>
          ))}
          {booted !== undefined && (
            <div>
              <dt>Started</dt>
              <dd>
                <Ago at={booted} />
              </dd>
            </div>
          )}
        </dl>
      </div>
    </section>
  );
}
