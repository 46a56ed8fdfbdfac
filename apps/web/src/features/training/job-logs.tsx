import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { callUnaryMethod, useTransport } from '@connectrpc/connect-query';
import { MLTrainingService } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import type { TrainingJobLogEntry } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import type { Clock } from '@platform/kit';
import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import { Card } from '../../ui/layout.tsx';
import { FailureNote } from '../../ui/messages.tsx';
import { useClock } from '../../ui/time.tsx';
import { parseLevel } from '../../entities/log/log-lines.ts';
import { formatCount } from '../../ui/quantities.ts';
import { localClock, msOf, utcMoment } from '../../ui/times.ts';
import '../../ui/style/logs.css';

/** Jobs with more lines than this are read with the command line. */
const mostLines = 2000;
/** How long the server holds its answer until there are new lines. */
const waitMs = 20_000;
const pauseAfterErrorMs = 3000;

interface Tail {
  lines: readonly TrainingJobLogEntry[];
  error: unknown;
  isEnded: boolean;
}
const empty: Tail = { lines: [], error: undefined, isEnded: false };

interface Source {
  /** @returns the lines after the token; without a next token, the log has ended. */
  page: (pageToken: string, signal: AbortSignal) => Promise<{ logs: TrainingJobLogEntry[]; nextPageToken: string }>;
  clock: Clock;
}

async function follow({ page, clock }: Source, show: (change: (now: Tail) => Tail) => void, end: AbortSignal) {
  for (let token = ''; !end.aborted;) {
    try {
      const { logs, nextPageToken } = await page(token, end);
      const isEnded = nextPageToken === '';
      show((now) => ({ lines: [...now.lines, ...logs].slice(-mostLines), error: undefined, isEnded }));
      if (isEnded) return;
      token = nextPageToken;
    } catch (error) {
      if (end.aborted) return;
      show((now) => ({ ...now, error }));
      await clock.sleep(pauseAfterErrorMs, end);
    }
  }
}

/** Live log lines of the trainer. */
export function JobLogs({ jobId, isActive }: { jobId: string; isActive: boolean }) {
  const transport = useTransport();
  const clock = useClock();
  const [tail, setTail] = useState(empty);
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  useEffect(() => {
    const end = new AbortController();
    const page: Source['page'] = (pageToken, signal) =>
      callUnaryMethod(
        transport,
        MLTrainingService.method.getTrainingJobLogs,
        { id: jobId, pageToken, wait: durationFromMs(waitMs) },
        { signal },
      );
    setTail(empty);
    void follow({ page, clock }, setTail, end.signal);
    return () => end.abort();
  }, [transport, clock, jobId]);
  useLayoutEffect(() => {
    if (box.current && isAtEnd.current) box.current.scrollTop = box.current.scrollHeight;
  }, [tail.lines]);
  const { lines, error, isEnded } = tail;
  return (
    <Card
      title="Log"
      hint={formatCount(lines.length, 'line')}
      head={isActive && !isEnded && error === undefined && <span className="badge is-busy">live</span>}
    >
      {error !== undefined && <FailureNote error={error} />}
      {lines.length === 0 ? (
        <p className="card-body soft">
          {isActive
            ? 'Lines appear here as soon as the trainer starts.'
            : 'No lines. Logs are kept for 7 days after the end of a job.'}
        </p>
      ) : (
        <div
          className="log log-short"
          ref={box}
          role="region"
          aria-label="Log lines"
          tabIndex={0}
          onScroll={({ currentTarget: view }) =>
            void (isAtEnd.current = view.scrollHeight - view.scrollTop - view.clientHeight < 40)
          }
        >
          <ol>
            {lines.map((line, at) => (
              <Line key={`${at} ${msOf(line.time)}`} line={line} />
            ))}
          </ol>
        </div>
      )}
    </Card>
  );
}

function Line({ line }: { line: Tail['lines'][number] }) {
  const time = msOf(line.time);
  const level = parseLevel(line.level);
  return (
    <li className={`log-line log-${level}`}>
      <time title={time === undefined ? '' : utcMoment(time)}>{time === undefined ? '' : localClock(time)}</time>
      <span className="log-level">{level}</span>
      <span className="log-text">{line.message}</span>
    </li>
  );
}
