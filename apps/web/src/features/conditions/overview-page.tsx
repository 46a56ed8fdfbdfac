import '../../entities/condition/conditions.css';
import {
  type ConditionGroup,
  ConditionSeverity,
  ConditionSubject,
  type FleetNumbers,
  type GetOverviewResponse,
} from '@platform/contract/gen/platform/conditions/v1/conditions_pb';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { CheckIcon, NoteIcon, PlusIcon } from '../../ui/icons.tsx';
import { useLostSince } from '../../ui/contact.tsx';
import { LoadedLater } from '../../ui/loaded-later.tsx';
import { FailureNote, Loading } from '../../ui/messages.tsx';
import { Ago, useNow } from '../../ui/time.tsx';
import { formatCount, formatGrouped } from '../../ui/quantities.ts';
import { msOf } from '../../ui/times.ts';
import { ConditionButton } from '../../entities/condition/condition-action.tsx';
import { LateNote, MuteButton, SeverityMark, Times } from '../../entities/condition/condition-parts.tsx';
import { useIsCurrent, useOverview } from '../../entities/condition/condition-query.ts';
import { groupWords, type Outcome, outcomeOf } from '../../entities/condition/condition-words.ts';
import { lastDay } from './fleet-series.ts';
import { FirstSteps, stepsOf } from './first-steps.tsx';

/** What needs attention, the worst first; then the numbers of the organization. */
export function OverviewPage() {
  const { data, error, failureReason, dataUpdatedAt } = useOverview();
  const isCurrent = useIsCurrent(dataUpdatedAt);
  const failure = error ?? failureReason;
  const at = msOf(data?.measuredOn);
  const steps = data?.numbers && stepsOf(data.numbers);
  const hasMachine = steps?.[0]?.isDone === true;
  const isLost = useLostSince() !== undefined;
  return (
    <div className="page overview">
      <title>Overview · Platform</title>
      <div className="page-head">
        <div className="head-line">
          <h1>Overview</h1>
          <span className="small soft">
            measured <Ago at={at} otherwise="not yet" />
          </span>
        </div>
        {hasMachine && (
          <Link to="/machines/add" className="button">
            <PlusIcon />
            Add a machine
          </Link>
        )}
      </div>
      {failure && (!isLost || data === undefined) && <FailureNote error={failure} />}
      {data === undefined ? (
        !failure && <Loading />
      ) : (
        <>
          {steps && !hasMachine && <FirstSteps steps={steps} />}
          {data.numbers && data.numbers.machines > 0 && <Strip numbers={data.numbers} isCurrent={isCurrent} />}
          <Attention overview={data} isCurrent={isCurrent} />
          {steps && hasMachine && <FirstSteps steps={steps} />}
          {data.numbers && <Numbers numbers={data.numbers} at={at} />}
        </>
      )}
    </div>
  );
}

const loadNumbers = () => import('./fleet-numbers.tsx');

const Strip = ({ numbers, isCurrent }: { numbers: FleetNumbers; isCurrent: boolean }) => (
  <LoadedLater name="numbers of the fleet" load={loadNumbers} className="card fleet-strip">
    {({ FleetStrip }) => <FleetStrip numbers={numbers} isCurrent={isCurrent} />}
  </LoadedLater>
);

function Numbers({ numbers, at }: { numbers: FleetNumbers; at: number | undefined }) {
  const { from, to } = lastDay(useNow());
  const [span, setSpan] = useState({ from, to });
  if (span.to !== to) setSpan({ from, to });
  return (
    <LoadedLater name="numbers of the fleet" load={loadNumbers} className="number-cards">
      {({ FleetCards }) => <FleetCards numbers={numbers} at={at} span={span} />}
    </LoadedLater>
  );
}

function Attention({ overview, isCurrent }: { overview: GetOverviewResponse; isCurrent: boolean }) {
  const { groups, truncated, muted, measuredOn, measurementLate } = overview;
  const { errors = 0, warnings = 0, notes = 0 } = overview.counts ?? {};
  const urgent = groups.filter(({ severity }) => severity !== ConditionSeverity.NOTE);
  const outcome = outcomeOf({
    isCurrent,
    isMeasured: measuredOn !== undefined,
    isLate: measurementLate,
    errors,
    warnings,
    notes,
  });
  return (
    <section className="card" aria-labelledby="attention">
      <div className="card-head">
        <h2 id="attention">Needs attention</h2>
        <span className="small soft">{urgent.length > 0 && `${formatGrouped(errors + warnings)}, worst first`}</span>
        <span className="small push attention-links">
          <Link to="/conditions">All conditions</Link>
          {muted > 0 && (
            <Link to="/conditions" search={{ state: 'muted' }}>
              {formatGrouped(muted)} muted
            </Link>
          )}
          <Link to="/conditions" search={{ state: 'ended' }}>
            History
          </Link>
        </span>
      </div>
      <LateNote isLate={measurementLate} />
      {urgent.length > 0 && (
        <ul className="conditions">
          {urgent.map((group) => (
            <GroupRow key={`${group.subject} ${group.code}`} group={group} />
          ))}
        </ul>
      )}
      <AllWell outcome={outcome} isCurrent={isCurrent} notes={notes} groups={groups} />
      {notes > 0 && outcome !== 'notes' && (
        <p className="small attention-notes">
          <Link to="/conditions" search={{ severity: 'note' }}>
            {formatCount(notes, 'note')}
          </Link>
        </p>
      )}
      {truncated && <p className="small soft attention-notes">Only the worst 50 kinds are shown.</p>}
    </section>
  );
}

interface AllWellProps {
  outcome: Outcome;
  isCurrent: boolean;
  notes: number;
  groups: readonly ConditionGroup[];
}

/** Nothing is claimed where something is listed above. */
function AllWell({ outcome, isCurrent, notes, groups }: AllWellProps) {
  if (outcome === 'attention') return null;
  if (outcome === 'notes') {
    const [kind, ...others] = groups.filter(({ severity }) => severity === ConditionSeverity.NOTE);
    return (
      <p className="all-unknown">
        <NoteIcon />
        <span>
          No errors or warnings are open.{' '}
          <Link to="/conditions" search={{ severity: 'note' }}>
            {formatCount(notes, 'note')}
          </Link>
          {kind && others.length === 0 && `: ${groupWords(kind).title}.`}
        </span>
      </p>
    );
  }
  if (outcome === 'well')
    return (
      <p className="all-well">
        <CheckIcon />
        All well: everything was measured lately, and no errors or warnings are open.
      </p>
    );
  return (
    <p className="all-unknown soft">
      <NoteIcon />
      Not known: {isCurrent ? 'the server has not measured lately.' : 'what is shown is old.'}
    </p>
  );
}

function GroupRow({ group }: { group: ConditionGroup }) {
  const { count, severity, code, subject, examples } = group;
  const { title, cause } = groupWords(group);
  const [first] = examples;
  const since = msOf(group.since);
  const remedy = count === 1 ? first?.remedy : undefined;
  return (
    <li className="condition">
      <SeverityMark severity={severity} />
      <div className="condition-text">
        <strong>{title}</strong>
        <p className="small soft break" title={remedy}>
          {cause} {remedy}
        </p>
      </div>
      <Times since={since} />
      <div className="condition-do">
        {count === 1 && first ? (
          <ConditionButton condition={first} />
        ) : (
          <Link to="/conditions" search={{ code }} className="button button-small condition-button">
            See {formatGrouped(count)}
          </Link>
        )}
        {first && (
          <MuteButton title={title} condition={first} ofAll={count > 1 && subject !== ConditionSubject.SERVER} />
        )}
      </div>
    </li>
  );
}
