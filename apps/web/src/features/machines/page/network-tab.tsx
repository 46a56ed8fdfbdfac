import { Badge } from '../../../ui/badges.tsx';
import { NetworkIcon } from '../../../ui/icons.tsx';
import { Card, Pair } from '../../../ui/layout.tsx';
import { EmptyState, FailureNote, Loading } from '../../../ui/messages.tsx';
import { Table } from '../../../ui/table.tsx';
import { Ago, useNow } from '../../../ui/time.tsx';
import { useLostSince } from '../../../ui/contact.tsx';
import { UserText } from '../../../ui/isolated-text.tsx';
import { pastTime } from '../../../entities/machine/machine-status.ts';
import { networkView, pastNetwork } from './network.ts';
import type { AttemptView, LinkView, NetworkView, RowView } from './network.ts';
import { msOf, span } from '../../../ui/times.ts';
import { useMachine } from '../../../entities/machine/machine-query.ts';

/** NETWORK: how the machine is connected, what it tries next, and what failed. */
export function NetworkTab() {
  const query = useMachine();
  const isLost = useLostSince() !== undefined;
  const machine = query.data?.machine;
  if (machine === undefined) return query.error ? <FailureNote error={query.error} /> : <Loading />;
  const reported = networkView(machine.report?.network);
  if (reported === undefined)
    return (
      <div className="card">
        <EmptyState icon={<NetworkIcon />} title="No network reported">
          <p>The agent of this machine has not reported its network yet, or it is older and does not report it.</p>
        </EmptyState>
      </div>
    );
  const network = isLost || pastTime(machine) !== undefined ? pastNetwork(reported) : reported;
  return (
    <div className="stack">
      <State network={network} reportedOn={msOf(machine.reportedOn)} />
      {network.rows.length > 0 && (
        <Card title="Configured networks">
          <RowTable rows={network.rows} />
        </Card>
      )}
      <Card title="Links">
        <LinkTable links={network.links} isPast={network.isPast} />
      </Card>
      <Card title="Last attempts">
        {network.attempts.length === 0 ? (
          <div className="card-body">
            <p className="soft">The agent has not tried to join a network since it started.</p>
          </div>
        ) : (
          <AttemptTable attempts={network.attempts} />
        )}
      </Card>
    </div>
  );
}

const State = ({ network, reportedOn }: { network: NetworkView; reportedOn: number | undefined }) => (
  <Card
    title="Network"
    label="State of the network"
    head={
      <>
        <Badge state={network.mode} />
        {network.isOnFallback && <span className="badge is-warn">lower priority</span>}
        <span className="soft small push">
          {network.isPast ? 'last report' : 'reported'} <Ago at={reportedOn} />
        </span>
      </>
    }
  >
    <div className="card-body">
      <dl className="pair-list">
        <Pair name="In this state since">
          <Ago at={network.since} otherwise="unknown" />
        </Pair>
        <Pair name="Internet">
          <Badge state={network.internet} />
          {network.checkedOn !== undefined && (
            <>
              {' '}
              checked <Ago at={network.checkedOn} />
            </>
          )}
        </Pair>
        <Pair name="Why">{network.why || '–'}</Pair>
        {network.hotspot !== '' && (
          <Pair name="Hotspot">
            <UserText text={network.hotspot} />
          </Pair>
        )}
        <Pair name="Next">
          {network.next || (network.isPast ? '–' : 'nothing: it stays as it is')}
          <Until at={network.nextTime} />
        </Pair>
      </dl>
    </div>
  </Card>
);

/** Undefined, or past: the machine has not reported what came of it. */
function Until({ at }: { at: number | undefined }) {
  const now = useNow();
  return at !== undefined && at > now && <span className="soft"> (in {span(at - now)})</span>;
}

const LinkTable = ({ links, isPast }: { links: readonly LinkView[]; isPast: boolean }) => (
  <Table
    rows={links}
    keyOf={(link) => link.interface}
    columns={[
      {
        title: 'Interface',
        cell: (link) => (
          <span className="row">
            <span className="mono">{link.interface}</span>
            <span className="soft small">{link.type}</span>
            {link.isInUse &&
              (isPast ? <span className="badge">was in use</span> : <span className="badge is-good">in use</span>)}
          </span>
        ),
      },
      {
        title: 'State',
        cell: ({ state, since, why }) => (
          <div>
            <Badge state={state} /> {since !== undefined && <Ago at={since} />}
            {why !== '' && <div className="small soft break">{why}</div>}
          </div>
        ),
      },
      { title: 'Network', className: 'break', cell: ({ network }) => <UserText text={network || '–'} /> },
      { title: 'Signal', cell: ({ signal }) => signal || '–' },
      {
        title: 'Addresses',
        className: 'break',
        cell: ({ addresses }) => (
          <div className="mono">
            {addresses.length === 0 && '–'}
            {addresses.map((address) => (
              <div key={address}>{address}</div>
            ))}
          </div>
        ),
      },
    ]}
  />
);

const RowTable = ({ rows }: { rows: readonly RowView[] }) => (
  <Table
    rows={rows}
    keyOf={({ path }) => path}
    columns={[
      {
        title: 'In the configuration',
        className: 'break',
        cell: ({ isSetting, name, path }) => (
          <>
            <span className={isSetting ? 'mono' : ''}>
              <UserText text={name} />
            </span>
            <div className="small soft mono break">{path}</div>
          </>
        ),
      },
      { title: 'State', cell: (row) => <RowState row={row} /> },
      { title: 'Interface', cell: (row) => <span className="mono">{row.interface || '–'}</span> },
      {
        title: 'Last seen',
        className: 'no-wrap',
        cell: ({ lastSeen }) => (lastSeen === undefined ? '–' : <Ago at={lastSeen} />),
      },
      {
        title: 'Measured',
        className: 'no-wrap',
        cell: ({ measured }) => <Ago at={measured} otherwise="not measured" />,
      },
    ]}
  />
);

const RowState = ({ row }: { row: RowView }) => (
  <div>
    <span className="row">
      <Badge state={row.state} />
      {row.hasNoEffect && <span className="badge is-warn">no effect here</span>}
      {row.since !== undefined && (
        <span className="small">
          since <Ago at={row.since} />
        </span>
      )}
    </span>
    <div className="small soft break">
      {row.text}
      {row.code !== '' && <span className="mono"> {row.code}</span>}
    </div>
  </div>
);

const AttemptTable = ({ attempts }: { attempts: readonly AttemptView[] }) => (
  <Table
    rows={attempts}
    // Attempts have no identity, and the same one may fail twice in a second.
    keyOf={({ time, network }, index) => `${time} ${network} ${index}`}
    columns={[
      { title: 'Network', className: 'break', cell: ({ network }) => <UserText text={network} /> },
      { title: 'Interface', cell: (attempt) => <span className="mono">{attempt.interface}</span> },
      { title: 'When', className: 'no-wrap', cell: ({ time }) => <Ago at={time} otherwise="unknown" /> },
      {
        title: 'Result',
        cell: ({ result, reason }) => (
          <div>
            <Badge state={result} />
            {reason !== '' && <div className="small soft break">{reason}</div>}
          </div>
        ),
      },
    ]}
  />
);
