import { ConfigChangeKind } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { FragmentEffect, PreviewFragmentResponse } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { Link } from '@tanstack/react-router';
import { Badge } from '../../../ui/badges.tsx';
import { formatCount } from '../../../ui/quantities.ts';

const words: Readonly<Record<number, string>> = {
  [ConfigChangeKind.ADDED]: 'added',
  [ConfigChangeKind.REMOVED]: 'removed',
  [ConfigChangeKind.CHANGED]: 'changed',
};

/** What changes on which machine, before the fragment is saved. */
export function FragmentEffects({ of }: { of: PreviewFragmentResponse }) {
  const { machines, machineCount } = of;
  const broken = machines.filter(({ problems }) => problems.length > 0).length;
  return (
    <section className="card" aria-label="What changes where">
      <div className="card-head">
        <h2>What changes where</h2>
        <span className="soft small" role="status">
          {machineCount === 0
            ? 'No machine follows this fragment.'
            : `${formatCount(machineCount, 'machine')} ${machineCount === 1 ? 'follows' : 'follow'} it${broken > 0 ? `; ${broken} would get new errors, so it cannot be saved` : ''}`}
        </span>
      </div>
      {machines.length > 0 && (
        <ul className="effect-list">
          {machines.map((one) => (
            <Effect key={one.partId} effect={one} />
          ))}
        </ul>
      )}
      {of.truncated && <p className="card-body soft small">Only the first 500 are listed.</p>}
    </section>
  );
}

const Effect = ({ effect }: { effect: FragmentEffect }) => {
  const { machineId, machineName, changes, changeCount, problems } = effect;
  const more = changeCount - changes.length;
  return (
    <li className="stack-tight">
      <span className="row">
        <Link to="/machines/$machineId/configure" params={{ machineId }} className="break">
          <bdi>{machineName}</bdi>
        </Link>
        {problems.length > 0 && <Badge state={{ tone: 'bad', text: formatCount(problems.length, 'new error') }} />}
        {changeCount === 0 && <span className="soft small">nothing changes</span>}
      </span>
      {changes.map(({ path, kind }) => (
        <span key={path} className="small break">
          <span className="soft">{words[kind] ?? 'changed'}</span> <span className="mono">{path}</span>
        </span>
      ))}
      {more > 0 && <span className="soft small">and {more} more</span>}
      {problems.map(({ path, message, remedy }) => (
        <span key={`${path} ${message}`} className="small field-wrong break">
          <span className="mono">{path}</span> {message} {remedy}
        </span>
      ))}
    </li>
  );
};
