import type { Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { Link } from '@tanstack/react-router';
import { Badge } from '../../../ui/badges.tsx';
import { Card } from '../../../ui/layout.tsx';
import { Table } from '../../../ui/table.tsx';
import { Ago } from '../../../ui/time.tsx';
import { UserText } from '../../../ui/isolated-text.tsx';
import { pastTime } from '../../../entities/machine/machine-status.ts';
import { networkView, pastNetwork } from './network.ts';
import { msOf } from '../../../ui/times.ts';

/** The links of the machine, one row each; NETWORK says why and what is tried next. */
export function NetworksCard({ machine, isLost }: { machine: Machine; isLost: boolean }) {
  const reported = networkView(machine.report?.network);
  if (reported === undefined) return null;
  const network = isLost || pastTime(machine) !== undefined ? pastNetwork(reported) : reported;
  return (
    <Card
      title="Networks"
      head={
        <>
          <Badge state={network.internet} />
          <span className="soft small">
            {network.isPast ? 'last report' : 'reported'} <Ago at={msOf(machine.reportedOn)} />
          </span>
          <Link to="/machines/$machineId/network" params={{ machineId: machine.id }} className="push small">
            Details
          </Link>
        </>
      }
    >
      <Table
        rows={network.links}
        keyOf={(link) => link.interface}
        columns={[
          {
            title: 'Name',
            cell: (link) => (
              <>
                <span className="mono">{link.interface}</span> <span className="soft small">{link.type}</span>
              </>
            ),
          },
          { title: 'State', cell: ({ state }) => <Badge state={state} /> },
          { title: 'Network', className: 'break', cell: (link) => <UserText text={link.network || '–'} /> },
          { title: 'Signal', cell: ({ signal }) => signal || '–' },
          { title: 'Address', className: 'mono break', cell: ({ addresses }) => addresses[0] ?? '–' },
        ]}
      />
    </Card>
  );
}
