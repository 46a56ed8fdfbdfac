import type { Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { Link } from '@tanstack/react-router';
import { Badge } from '../../../ui/badges.tsx';
import { Ago } from '../../../ui/time.tsx';
import { UserText } from '../../../ui/isolated-text.tsx';
import { pastTime } from '../../../entities/machine/machine-status.ts';
import { networkView, pastNetwork, type LinkView } from './network.ts';
import { msOf } from '../../../ui/times.ts';

/** The links of the machine, one row each; NETWORK says why and what is tried next. */
export function NetworksCard({ machine, isLost }: { machine: Machine; isLost: boolean }) {
  const reported = networkView(machine.report?.network);
  if (reported === undefined) return null;
  const network = isLost || pastTime(machine) !== undefined ? pastNetwork(reported) : reported;
  return (
    <section className="card" aria-label="Networks">
      <div className="card-head">
        <h2>Networks</h2>
        <Badge state={network.internet} />
        <span className="soft small">
          {network.isPast ? 'last report' : 'reported'} <Ago at={msOf(machine.reportedOn)} />
        </span>
        <Link to="/machines/$machineId/network" params={{ machineId: machine.id }} className="push small">
          Details
        </Link>
      </div>
      <table className="table table-cards">
        <thead>
          <tr>
            {['Name', 'State', 'Network', 'Signal', 'Address'].map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {network.links.map((link) => (
            <LinkRow key={link.interface} link={link} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

const LinkRow = ({ link }: { link: LinkView }) => (
  <tr>
    <td className="lead">
      <span className="mono">{link.interface}</span> <span className="soft small">{link.type}</span>
    </td>
    <td data-label="State">
      <Badge state={link.state} />
    </td>
    <td data-label="Network" className="break">
      <UserText text={link.network || '–'} />
    </td>
    <td data-label="Signal">{link.signal || '–'}</td>
    <td data-label="Address" className="mono break">
      {link.addresses[0] ?? '–'}
    </td>
  </tr>
);
