import { parseMachineQuery } from '@platform/contract/machine/query';
import { useId, useRef, useState } from 'react';
import type { KeyboardEvent, ReactNode } from 'react';
import { isUnfinished } from './machine-search.ts';
import { type Suggestion, useSuggestions } from './query-suggestions.ts';

interface QueryFieldProps {
  value: string;
  onChange: (query: string) => void;
  /** The focus has left the field. */
  onLeave: () => void;
  organizationId: string;
}

/** The field of the query, with suggestions; a wrong word is marked in its place. */
export function QueryField({ value, onChange, onLeave, organizationId }: QueryFieldProps) {
  const id = useId();
  const paint = useRef<HTMLDivElement>(null);
  const { input, suggestions, at, caret, take, onKeyDown, setCaret } = useCompletion({
    value,
    onChange,
    organizationId,
  });
  const problem = problemAt(value, caret);
  const isOpen = suggestions.length > 0;
  // The browser's own select event says nothing of a caret that moves.
  const follow = ({ currentTarget }: { currentTarget: HTMLInputElement }): void => {
    if (caret !== undefined) setCaret(currentTarget.selectionStart ?? undefined);
  };
  return (
    <div className="query">
      <div className="query-paint" ref={paint} aria-hidden="true">
        {paintOf(value, problem !== undefined)}
      </div>
      <input
        ref={input}
        className="input query-input"
        role="combobox"
        aria-label="Filter"
        aria-expanded={isOpen}
        aria-autocomplete="list"
        aria-controls={`${id}-list`}
        aria-invalid={problem !== undefined}
        {...(at >= 0 && { 'aria-activedescendant': `${id}-${at}` })}
        {...(problem && { 'aria-describedby': `${id}-problem` })}
        value={value}
        autoComplete="off"
        spellCheck={false}
        placeholder="name, host, tag or field:value"
        onChange={({ target }) => {
          onChange(target.value);
          setCaret(target.selectionStart ?? target.value.length);
        }}
        onKeyUp={follow}
        onClick={follow}
        onBlur={() => {
          setCaret(undefined);
          onLeave();
        }}
        onKeyDown={onKeyDown}
        onScroll={({ currentTarget }) => {
          if (paint.current) paint.current.scrollLeft = currentTarget.scrollLeft;
        }}
      />
      <Suggestions id={id} suggestions={suggestions} active={at} onTake={take} />
      {problem && (
        <p id={`${id}-problem`} className="field-wrong" role="status">
          <span className="mono break">{problem.word}</span>: {problem.problem}. Write {problem.instead}.
        </p>
      )}
    </div>
  );
}

/** The suggestions at the caret, and the keys that choose one. */
function useCompletion({ value, onChange, organizationId }: Omit<QueryFieldProps, 'onLeave'>) {
  const input = useRef<HTMLInputElement>(null);
  const [{ caret, active }, setPlace] = useState<{ caret: number | undefined; active: number }>({
    caret: undefined,
    active: -1,
  });
  // The caret is reported again where it is, too: that keeps the choice.
  const setCaret = (next: number | undefined): void =>
    setPlace((before) => (before.caret === next ? before : { caret: next, active: -1 }));
  const suggestions = useSuggestions({ query: value, caret, organizationId });
  const at = Math.min(active, suggestions.length - 1);
  const take = ({ start, end, text }: Suggestion): void => {
    onChange(value.slice(0, start) + text + value.slice(end));
    const place = start + text.length;
    // The caret follows once React has written the text.
    requestAnimationFrame(() => {
      input.current?.setSelectionRange(place, place);
      setCaret(place);
    });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    const chosen = suggestions[at];
    const count = suggestions.length;
    if (step !== 0 && count > 0) setPlace({ caret, active: (Math.max(at, step < 0 ? 0 : -1) + step + count) % count });
    else if (event.key === 'Enter' && chosen) take(chosen);
    else if (event.key === 'Escape' && count > 0) setCaret(undefined);
    else return;
    event.preventDefault();
  };
  return { input, suggestions, at, caret, take, onKeyDown, setCaret };
}

interface SuggestionsProps {
  id: string;
  suggestions: readonly Suggestion[];
  active: number;
  onTake: (suggestion: Suggestion) => void;
}

const Suggestions = ({ id, suggestions, active, onTake }: SuggestionsProps) => (
  <ul
    className="query-list"
    role="listbox"
    id={`${id}-list`}
    aria-label="Suggestions"
    hidden={suggestions.length === 0}
  >
    {suggestions.map((suggestion, index) => (
      <li
        key={suggestion.text}
        id={`${id}-${index}`}
        role="option"
        aria-selected={index === active}
        // The field keeps the focus.
        onPointerDown={(event) => {
          event.preventDefault();
          onTake(suggestion);
        }}
      >
        <span className="mono">{suggestion.text}</span>
        <span className="soft">{suggestion.hint}</span>
      </li>
    ))}
  </ul>
);

/** What is wrong. A comparison whose value is about to be typed is not. */
function problemAt(query: string, caret: number | undefined) {
  const { problem } = parseMachineQuery(query);
  if (problem === undefined || caret !== problem.end) return problem;
  return isUnfinished(query.slice(0, problem.end)) ? undefined : problem;
}

/** The same text behind the field's own, which shows what it is read as. */
function paintOf(query: string, isWrong: boolean): ReactNode[] {
  const read = parseMachineQuery(query);
  if (read.problem && !isWrong) return [query];
  const marked = read.problem
    ? [{ ...read.problem, kind: 'wrong' }]
    : read.places.map((place, index) => ({ ...place, kind: kindOf(read.terms[index]) }));
  const nodes: ReactNode[] = [];
  let from = 0;
  for (const { start, end, kind } of marked) {
    const Part = kind === 'wrong' ? 'mark' : 'span';
    nodes.push(
      query.slice(from, start),
      <Part key={start} className={`query-${kind}`}>
        {query.slice(start, end)}
      </Part>,
    );
    from = end;
  }
  return [...nodes, query.slice(from)];
}

const kindOf = (term: { isNegated: boolean } | undefined): string =>
  term?.isNegated ? 'not' : term && 'comparison' in term ? 'term' : 'word';
