import type { FleetNumbers, VersionCount } from '@platform/contract/gen/platform/conditions/v1/conditions_pb';
import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import type { ReactNode } from 'react';
import { Dot } from '../../ui/badges.tsx';
import type { Tone } from '../../ui/status-label.ts';
import { Ago } from '../../ui/time.tsx';
import { bytes, formatGrouped, percent } from '../../ui/quantities.ts';
import { FleetChart } from './fleet-chart.tsx';
import { beganPerHour, onlineOverTime, type Span, wholeHours } from './fleet-series.ts';

/** The machines of the organization in one line, by state. */
export function FleetStrip({
  numbers: { machines, online, offline, awaiting, failing },
  isCurrent,
}: {
  numbers: FleetNumbers;
  isCurrent: boolean;
}) {
  const parts: { name: string; value: number; share: number; tone: Tone; q: string }[] = [
    { name: 'online', value: online, share: online - failing, tone: isCurrent ? 'good' : 'quiet', q: 'state:online' },
    { name: 'of them failing', value: failing, share: failing, tone: 'bad', q: '' },
    { name: 'offline', value: offline, share: offline, tone: 'off', q: 'state:offline' },
    { name: 'awaiting setup', value: awaiting, share: awaiting, tone: 'quiet', q: 'state:awaiting' },
  ];
  return (
    <section className="card fleet-strip" aria-label="Machines by state">
      <ul className="fleet-words">
        <li>
          <Link to="/machines">
            <strong>{formatGrouped(machines)}</strong> {machines === 1 ? 'machine' : 'machines'}
          </Link>
        </li>
        {parts.map(({ name, value, tone, q }) => (
          <li key={name}>
            <Dot tone={tone} />
            {q === '' ? (
              <Link to="/conditions" search={{ severity: 'error', subject: 'machine' }}>
                <strong>{formatGrouped(value)}</strong> {name}
              </Link>
            ) : (
              <Link to="/machines" search={{ q }}>
                <strong>{formatGrouped(value)}</strong> {name}
              </Link>
            )}
          </li>
        ))}
      </ul>
      <div className="fleet-bar" aria-hidden="true">
        {parts.map(({ name, share, tone }) => (
          <span key={name} className={`fleet-${tone}`} style={{ flexGrow: share }} />
        ))}
      </div>
    </section>
  );
}

const Card = ({
  title,
  value,
  children,
  at,
}: {
  title: string;
  value?: ReactNode;
  children: ReactNode;
  at: number | undefined;
}) => (
  <section className="card number-card" aria-label={title}>
    <div className="number-head">
      <h2>{title}</h2>
      <span className="small soft">
        <Ago at={at} otherwise="not measured" />
      </span>
      {value !== undefined && <strong className="number-value numbers">{value}</strong>}
    </div>
    {children}
  </section>
);

/** The numbers of the organization as small charts, each with its age. `at`: when they were measured, ms since 1970. */
export function FleetCards({ numbers, at, span }: { numbers: FleetNumbers; at: number | undefined; span: Span }) {
  const { online, samples, hours, jobs, images, storedBytes, disk } = numbers;
  const overTime = useMemo(() => onlineOverTime(samples, span), [samples, span]);
  const began = useMemo(() => beganPerHour(hours, span), [hours, span]);
  const newest = began.series[0]?.values.at(-1) ?? 0;
  return (
    <div className="number-cards">
      <Card title="Machines online" value={formatGrouped(online)} at={at}>
        {samples.length === 0 ? (
          <p className="number-none small soft">The line begins within five minutes.</p>
        ) : (
          <FleetChart data={overTime} {...span} kind="line" summary={`Machines online in 24 hours, now ${online}`} />
        )}
      </Card>
      <Card title="New conditions per hour" value={formatGrouped(newest)} at={at}>
        {hours.length === 0 ? (
          <p className="number-none small soft">None began in the last 24 hours.</p>
        ) : (
          <FleetChart
            data={began}
            {...wholeHours(span)}
            kind="bars"
            summary={`Errors and warnings that began in 24 hours, ${newest} in the newest hour`}
          />
        )}
      </Card>
      <Card title="Versions" at={at}>
        <Versions name="Machine server" versions={numbers.serverVersions} />
        <Versions name="Agent" versions={numbers.agentVersions} />
      </Card>
      <Card title="Jobs" at={at}>
        <dl className="number-list">
          <Fact name="running" value={formatGrouped(jobs?.inProgress ?? 0)} />
          <Fact name="waiting" value={formatGrouped(jobs?.pending ?? 0)} />
          <Fact name="completed in 7 days" value={formatGrouped(jobs?.completed ?? 0)} />
          <Fact name="failed in 7 days" value={formatGrouped(jobs?.failed ?? 0)} />
        </dl>
      </Card>
      <Card title="Images and disk" at={at}>
        <dl className="number-list">
          <Fact name="images" value={formatGrouped(images)} />
          <Fact name="stored" value={bytes(Number(storedBytes))} />
          {disk && <Fact name="free on the server" value={bytes(Number(disk.freeBytes))} />}
        </dl>
        {disk && disk.sizeBytes > 0n && (
          <Share name="of the disk is used" share={1 - Number(disk.freeBytes) / Number(disk.sizeBytes)} />
        )}
      </Card>
    </div>
  );
}

const Fact = ({ name, value }: { name: string; value: string }) => (
  <div>
    <dt>{name}</dt>
    <dd className="numbers">{value}</dd>
  </div>
);

const Share = ({ name, share }: { name: string; share: number }) => (
  <div className="share">
    <div className="bar" aria-hidden="true">
      <span style={{ width: `${share * 100}%` }} />
    </div>
    <span className="small soft">
      {percent(share, 0)} {name}
    </span>
  </div>
);

function Versions({ name, versions }: { name: string; versions: readonly VersionCount[] }) {
  const all = versions.reduce((sum, { machines }) => sum + machines, 0);
  return (
    <div className="versions">
      <h3 className="small soft">{name}</h3>
      {all === 0 && <p className="small soft">None reported.</p>}
      <ul>
        {versions.slice(0, 3).map(({ version, machines }) => (
          <li key={version}>
            <span className="version-name" title={version}>
              {version || 'not reported'}
            </span>
            <span className="bar bar-thin" aria-hidden="true">
              <span style={{ width: `${(machines / all) * 100}%` }} />
            </span>
            <span className="numbers small">{formatGrouped(machines)}</span>
          </li>
        ))}
      </ul>
      {versions.length > 3 && <p className="small soft">and {versions.length - 3} more versions</p>}
    </div>
  );
}
