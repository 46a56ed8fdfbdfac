import { Link } from '@tanstack/react-router';
import { Dot } from '../../../ui/badges.tsx';
import { Card } from '../../../ui/layout.tsx';
import { FailureNote } from '../../../ui/messages.tsx';
import { Ago } from '../../../ui/time.tsx';
import { UserText } from '../../../ui/isolated-text.tsx';
import type { ResourceRow } from './resources.ts';

interface ResourcesProps {
  machineId: string;
  /** Undefined: they are not loaded. */
  rows: readonly ResourceRow[] | undefined;
  error: unknown;
}

/** Every component, service and module with its state; those that fail first. */
export function ResourcesCard({ machineId, rows, error }: ResourcesProps) {
  const good = (rows ?? []).filter(({ state }) => state.tone === 'good').length;
  return (
    <Card
      title="Resources"
      className="story-resources"
      hint={
        rows !== undefined &&
        rows.length > 0 && (
          <>
            {good} of {rows.length} without a problem
          </>
        )
      }
    >
      {Boolean(error) && <FailureNote error={error} />}
      {rows?.length === 0 && <p className="soft story-none">The configuration has no component, service or module.</p>}
      <ul>
        {rows?.map((row) => (
          <Resource key={row.path} row={row} machineId={machineId} />
        ))}
      </ul>
    </Card>
  );
}

const Resource = ({ row, machineId }: { row: ResourceRow; machineId: string }) => (
  <li className="story-resource">
    <Dot tone={row.state.tone} />
    <div className="break">
      <strong>
        <UserText text={row.name} />
      </strong>{' '}
      <span className="soft small">
        <UserText text={row.kind} />
      </span>
      {row.problem !== '' && (
        <p className="small">
          <UserText text={row.problem} />
        </p>
      )}
      <p className="small soft">
        <Link to="/machines/$machineId/configure" params={{ machineId }} search={{ path: row.path }}>
          Configure
        </Link>
        {' · '}
        <Link to="/machines/$machineId/logs" params={{ machineId }} search={{ q: JSON.stringify(row.name) }}>
          Logs
        </Link>
      </p>
    </div>
    <span className="small story-resource-state">
      {row.state.text}
      {row.since !== undefined && (
        <span className="soft">
          <br />
          <Ago at={row.since} />
        </span>
      )}
    </span>
  </li>
);
