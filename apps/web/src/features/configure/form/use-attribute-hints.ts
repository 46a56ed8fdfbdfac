import { isObject } from '@platform/contract/text/json-object';
import { useEffect, useMemo, useState } from 'react';
import { useClock, useDebounced } from '../../../ui/time.tsx';
import type { DrawnSchemas } from '../schema/attribute-schemas.ts';
import { checkedEntries } from '../schema/checked-entries.ts';
import type { CheckedEntry } from '../schema/checked-entries.ts';
import { sortProblems } from '../config-problems.ts';
import type { ConfigProblem } from '../config-problems.ts';
import { hintsOf } from './attribute-hints.ts';
import { SchemaChecker } from '../schema/schema-checker.ts';
import type { CheckAnswer, CheckWorker } from '../schema/schema-checker.ts';
import { useServerSchemas } from '../schema/server-schemas.tsx';

const settleMs = 400;

/** The problems, and what the schemas of the machine server say about attributes. They prevent no save: the server decides. */
export function useAttributeHints(draft: string, problems: readonly ConfigProblem[]): readonly ConfigProblem[] {
  const { drawn } = useServerSchemas();
  const settled = useDebounced(draft, settleMs);
  const hints = useHints(settled, drawn);
  return useMemo(() => {
    // One problem for each place.
    const known = new Set(problems.map(({ where }) => where));
    const more = settled === draft ? hints.filter(({ where }) => !known.has(where)) : [];
    return more.length === 0 ? problems : sortProblems([...problems, ...more]);
  }, [problems, hints, settled, draft]);
}

const none: readonly ConfigProblem[] = [];

function useHints(text: string, drawn: DrawnSchemas | undefined): readonly ConfigProblem[] {
  const clock = useClock();
  const [hints, setHints] = useState(none);
  const checker = useMemo(() => new SchemaChecker(startWorker, clock), [clock]);
  useEffect(() => () => checker.end(), [checker]);
  useEffect(() => {
    const end = new AbortController();
    const entries = drawn === undefined ? [] : checkedEntries(parse(text), drawn);
    const run = async (): Promise<void> => {
      const found: [CheckedEntry, CheckAnswer][] = [];
      for (const entry of entries) {
        found.push([entry, await checker.check(entry, end.signal)]);
        if (end.signal.aborted) return;
      }
      setHints((before) => {
        const next = found.flatMap(([entry, answer]) => hintsOf(entry, answer));
        return JSON.stringify(next) === JSON.stringify(before) ? before : next;
      });
    };
    void run();
    return () => end.abort();
  }, [text, drawn, checker]);
  return hints;
}

function parse(text: string): unknown {
  try {
    const json: unknown = JSON.parse(text);
    return isObject(json) ? json : undefined;
  } catch {
    return undefined;
  }
}

function startWorker(): CheckWorker {
  const worker = new Worker(new URL('../schema/schema-worker.ts', import.meta.url), { type: 'module' });
  let answered: ((answer: CheckAnswer) => void) | undefined;
  const ready = new Promise<void>((resolve, reject) => {
    worker.addEventListener('message', ({ data }: MessageEvent<'ready' | CheckAnswer>) => {
      if (data === 'ready') resolve();
      else answered?.(data);
    });
    worker.addEventListener('error', ({ message }) => {
      reject(new Error(message));
      answered?.({ unchecked: `the check failed: ${message}` });
    });
  });
  return {
    ready,
    check: (job) =>
      new Promise((resolve) => {
        answered = resolve;
        worker.postMessage(job, { transfer: [] });
      }),
    end: () => worker.terminate(),
  };
}
