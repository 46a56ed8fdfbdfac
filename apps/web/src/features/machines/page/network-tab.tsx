import type { ReactNode } from 'react';
import { Badge } from '../../../ui/badges.tsx';
import { NetworkIcon } from '../../../ui/icons.tsx';
import { EmptyState, FailureNote, Loading } from '../../../ui/messages.tsx';
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
        <Section title="Configured networks">
          <RowTable rows={network.rows} />
        </Section>
      )}
      <Section title="Links">
        <LinkTable links={network.links} isPast={network.isPast} />
      </Section>
      <Section title="Last attempts">
        {network.attempts.length === 0 ? (
          <div className="card-body">
            <p className="soft">The agent has not tried to join a network since it started.</p>
          </div>
        ) : (
          <AttemptTable attempts={network.attempts} />
        )}
      </Section>
    </div>
  );
}

const Section = ({ title, children }: { title: string; children: ReactNode }) => (
  <section className="card" aria-label={title}>
    <div className="card-head">
      <h2>{title}</h2>
    </div>
    {children}
  </section>
);

const State = ({ network, reportedOn }: { network: NetworkView; reportedOn: number | undefined }) => (
  <section className="card" aria-label="State of the network">
    <div className="card-head">
      <h2>Network</h2>
      <Badge state={network.mode} />
      {network.isOnFallback && <span className="badge is-warn">lower priority</span>}
      <span className="soft small push">
        {network.isPast ? 'last report' : 'reported'} <Ago at={reportedOn} />
      </span>
    </div>
    <div className="card-body">
      <dl className="pair-list">
        <div>
          <dt>In this state since</dt>
          <dd>
            <Ago at={network.since} otherwise="unknown" />
          </dd>
        </div>
        <div>
          <dt>Internet</dt>
          <dd>
            <Badge state={network.internet} />
            {network.checkedOn !== undefined && (
              <>
                {' '}
                checked <Ago at={network.checkedOn} />
              </>
            )}
          </dd>
        </div>
        <div>
          <dt>Why</dt>
          <dd>{network.why || '–'}</dd>
        </div>
        {network.hotspot !== '' && (
          <div>
            <dt>Hotspot</dt>
            <dd>
              <UserText text={network.hotspot} />
            </dd>
          </div>
        )}
        <div>
          <dt>Next</dt>
          <dd>
            {network.next || (network.isPast ? '–' : 'nothing: it stays as it is')}
            <Until at={network.nextTime} />
          </dd>
        </div>
      </dl>
    </div>
  </section>
);

/** Undefined, or past: the machine has not reported what came of it. */
function Until({ at }: { at: number | undefined }) {
  const now = useNow();
  return at !== undefined && at > now && <span className="soft"> (in {span(at - now)})</span>;
}

const LinkTable = ({ links, isPast }: { links: readonly LinkView[]; isPast: boolean }) => (
  <table className="table table-cards">
    <thead>
      <tr>
        <th scope="col">Interface</th>
        <th scope="col">State</th>
        <th scope="col">Network</th>
        <th scope="col">Signal</th>
        <th scope="col">Addresses</th>
      </tr>
    </thead>
    <tbody>
      {links.map((link) => (
        <tr key={link.interface}>
          <td className="lead">
            <span className="row">
              <span className="mono">{link.interface}</span>
              <span className="soft small">{link.type}</span>
              {link.isInUse &&
                (isPast ? <span className="badge">was in use</span> : <span className="badge is-good">in use</span>)}
            </span>
          </td>
          <td data-label="State">
            <div>
              <Badge state={link.state} /> {link.since !== undefined && <Ago at={link.since} />}
              {link.why !== '' && <div className="small soft break">{link.why}</div>}
            </div>
          </td>
          <td data-label="Network" className="break">
            <UserText text={link.network || '–'} />
          </td>
          <td data-label="Signal">{link.signal || '–'}</td>
          <td data-label="Addresses" className="break">
            <div className="mono">
              {link.addresses.length === 0 && '–'}
              {link.addresses.map((address) => (
                <div key={address}>{address}</div>
              ))}
            </div>
          </td>
        </tr>
      ))}
    </tbody>
  </table>
);

const RowTable = ({ rows }: { rows: readonly RowView[] }) => (
  <table className="table table-cards">
    <thead>
      <tr>
        <th scope="col">In the configuration</th>
        <th scope="col">State</th>
        <th scope="col">Interface</th>
        <th scope="col">Last seen</th>
        <th scope="col">Measured</th>
      </tr>
    </thead>
    <tbody>
      {rows.map((row) => (
        <tr key={row.path}>
          <td className="lead break">
            <span className={row.isSetting ? 'mono' : ''}>
              <UserText text={row.name} />
            </span>
            <div className="small soft mono break">{row.path}</div>
          </td>
          <td data-label="State">
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
          </td>
          <td data-label="Interface">
            <span className="mono">{row.interface || '–'}</span>
          </td>
          <td data-label="Last seen" className="no-wrap">
            {row.lastSeen === undefined ? '–' : <Ago at={row.lastSeen} />}
          </td>
          <td data-label="Measured" className="no-wrap">
            <Ago at={row.measured} otherwise="not measured" />
          </td>
        </tr>
      ))}
    </tbody>
  </table>
);

const AttemptTable = ({ attempts }: { attempts: readonly AttemptView[] }) => (
  <table className="table table-cards">
    <thead>
      <tr>
        <th scope="col">Network</th>
        <th scope="col">Interface</th>
        <th scope="col">When</th>
        <th scope="col">Result</th>
      </tr>
    </thead>
    <tbody>
      {attempts.map((attempt, index) => (
        // Attempts have no identity, and the same one may fail twice in a second.
        <tr key={`${attempt.time} ${attempt.network} ${index}`}>
          <td className="lead break">
            <UserText text={attempt.network} />
          </td>
          <td data-label="Interface">
            <span className="mono">{attempt.interface}</span>
          </td>
          <td data-label="When" className="no-wrap">
            <Ago at={attempt.time} otherwise="unknown" />
          </td>
          <td data-label="Result">
            <div>
              <Badge state={attempt.result} />
              {attempt.reason !== '' && <div className="small soft break">{attempt.reason}</div>}
            </div>
          </td>
        </tr>
      ))}
    </tbody>
  </table>
);
