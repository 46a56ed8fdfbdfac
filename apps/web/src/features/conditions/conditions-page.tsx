import '../../entities/condition/conditions.css';
import {
  ConditionSeverity,
  ConditionState,
  ConditionSubject,
  type ListConditionsResponse,
} from '@platform/contract/gen/platform/conditions/v1/conditions_pb';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { CheckIcon } from '../../ui/icons.tsx';
import { useLostSince } from '../../ui/contact.tsx';
import { EmptyState, FailureNote, ListSkeleton } from '../../ui/messages.tsx';
import { Ago, useDebounced } from '../../ui/time.tsx';
import { SelectField, TextField } from '../../ui/fields.tsx';
import { formatCount } from '../../ui/quantities.ts';
import { msOf } from '../../ui/times.ts';
import { ConditionRow, LateNote } from '../../entities/condition/condition-parts.tsx';
import { useConditions, useIsCurrent } from '../../entities/condition/condition-query.ts';
import type { ConditionSearch } from './condition-search.ts';

const route = getRouteApi('/conditions');

const states = [
  ['open', 'Open', ConditionState.OPEN],
  ['muted', 'Muted', ConditionState.MUTED],
  ['ended', 'History', ConditionState.ENDED],
] as const;
const severities = [
  { value: '', text: 'All', wire: [] },
  { value: 'error', text: 'Errors', wire: [ConditionSeverity.ERROR] },
  { value: 'warning', text: 'Warnings', wire: [ConditionSeverity.WARNING] },
  { value: 'note', text: 'Notes', wire: [ConditionSeverity.NOTE] },
];
const subjects = [
  { value: '', text: 'All', wire: [] },
  { value: 'machine', text: 'Machines', wire: [ConditionSubject.MACHINE] },
  { value: 'job', text: 'Jobs', wire: [ConditionSubject.JOB] },
  { value: 'runner', text: 'Runners', wire: [ConditionSubject.RUNNER] },
  { value: 'server', text: 'Server', wire: [ConditionSubject.SERVER] },
];
const pageRows = 100;
const mostRows = 1_000;

/** Everything that needs attention, that is muted, or that ended. */
export function ConditionsPage() {
  const search: ConditionSearch = route.useSearch();
  const [rows, setRows] = useState(pageRows);
  const [resets, setResets] = useState(0);
  const [, , state] = states.find(([name]) => name === (search.state ?? 'open')) ?? states[0];
  const { data, error, dataUpdatedAt } = useConditions({
    state,
    severities: severities.find(({ value }) => value === (search.severity ?? ''))?.wire ?? [],
    subjects: subjects.find(({ value }) => value === (search.subject ?? ''))?.wire ?? [],
    code: search.code ?? '',
    containing: useDebounced(search.q ?? '', 300),
    pageSize: rows,
  });
  const isCurrent = useIsCurrent(dataUpdatedAt);
  // The frame says that the server does not answer.
  const isLost = useLostSince() !== undefined && data !== undefined;
  return (
    <div className="page">
      <title>Conditions · Platform</title>
      <div className="page-head">
        <div className="head-line">
          <h1>Conditions</h1>
          <Counts answer={data} />
        </div>
        <StateChoice />
      </div>
      <Filters key={resets} />
      {error && !isLost && <FailureNote error={error} />}
      <div className="card">
        <LateNote isLate={data?.measurementLate} />
        {data === undefined ? (
          !error && <ListSkeleton />
        ) : data.conditions.length === 0 ? (
          <NoConditions
            search={search}
            isCurrent={isCurrent && !data.measurementLate}
            onReset={() => setResets(resets + 1)}
          />
        ) : (
          <ul className="conditions">
            {data.conditions.map((one) => (
              <ConditionRow key={one.id} condition={one} hasName />
            ))}
          </ul>
        )}
      </div>
      {data && data.nextPageToken !== '' && rows < mostRows && (
        <button type="button" className="button" onClick={() => setRows(Math.min(mostRows, rows * 3))}>
          Show more
        </button>
      )}
    </div>
  );
}

/** Why the list is empty, and what leads on. */
function NoConditions({
  search: { state = 'open', severity, subject, code, q },
  isCurrent,
  onReset,
}: {
  search: ConditionSearch;
  isCurrent: boolean;
  onReset: () => void;
}) {
  const change = useChange();
  const isFiltered = [severity, subject, code, q].some((one) => one !== undefined);
  const none = { open: 'None is open', muted: 'None is muted', ended: 'None has ended' }[state] ?? 'None match';
  return (
    <EmptyState icon={<CheckIcon />} title={!isCurrent ? 'None were known' : isFiltered ? 'None match' : none}>
      {state === 'open' && <p>Muted ones and those that ended are listed apart.</p>}
      {isFiltered && (
        <button
          type="button"
          className="button"
          onClick={() => {
            change({ severity: undefined, subject: undefined, code: undefined, q: undefined });
            onReset();
          }}
        >
          Show all
        </button>
      )}
    </EmptyState>
  );
}

function useChange(): (next: ConditionSearch) => void {
  const navigate = route.useNavigate();
  return (next) => void navigate({ search: (before) => ({ ...before, ...next }), replace: true, resetScroll: false });
}

function Counts({ answer }: { answer: ListConditionsResponse | undefined }) {
  const { errors = 0, warnings = 0, notes = 0 } = answer?.counts ?? {};
  return (
    <span className="small soft">
      {answer &&
        `${formatCount(errors, 'error')}, ${formatCount(warnings, 'warning')}, ${formatCount(notes, 'note')} · `}
      measured <Ago at={msOf(answer?.measuredOn)} otherwise="not yet" />
    </span>
  );
}

function StateChoice() {
  const { state = 'open' } = route.useSearch();
  const change = useChange();
  return (
    <div className="segments" role="group" aria-label="Which conditions">
      {states.map(([name, text]) => (
        <button
          key={name}
          type="button"
          className="segment"
          aria-pressed={name === state}
          onClick={() => change({ state: name === 'open' ? undefined : name })}
        >
          {text}
        </button>
      ))}
    </div>
  );
}

function Filters() {
  const search = route.useSearch();
  const change = useChange();
  const [typed, setTyped] = useState(search.q ?? '');
  return (
    <div className="condition-filters">
      <TextField
        label="Search"
        value={typed}
        onChange={(value) => {
          setTyped(value);
          change({ q: value.trim() || undefined });
        }}
        maxLength={200}
        placeholder="name, code or text"
      />
      <SelectField
        label="Severity"
        value={search.severity ?? ''}
        options={severities}
        onChange={(value) => change({ severity: value || undefined })}
      />
      <SelectField
        label="Subject"
        value={search.subject ?? ''}
        options={subjects}
        onChange={(value) => change({ subject: value || undefined })}
      />
      {search.code !== undefined && (
        <button type="button" className="button" onClick={() => change({ code: undefined })}>
          Only {search.code}: show all
        </button>
      )}
    </div>
  );
}
