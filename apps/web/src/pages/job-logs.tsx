import { callUnaryMethod, useTransport } from '@connectrpc/connect-query';
import { MLTrainingService } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import type { TrainingJobLogEntry } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { useQuery } from '@tanstack/react-query';
import { FailureNote } from '../parts/messages.tsx';
import { levelOf } from '../view/log-lines.ts';
import { counted } from '../view/quantities.ts';
import { localClock, msOf, utcMoment } from '../view/times.ts';

const refreshMs = 2000;
/** A job that logs more than this is read with the command line. */
const mostLines = 2000;

/** What the trainer said. */
export function JobLogs({ jobId, isActive }: { jobId: string; isActive: boolean }) {
  const transport = useTransport();
  const query = useQuery({
    queryKey: ['job-logs', jobId, isActive],
    refetchInterval: isActive ? refreshMs : false,
    queryFn: async ({ signal }): Promise<TrainingJobLogEntry[]> => {
      const lines: TrainingJobLogEntry[] = [];
      let pageToken = '';
      do {
        const page = await callUnaryMethod(
          transport,
          MLTrainingService.method.getTrainingJobLogs,
          { id: jobId, pageToken },
          { signal },
        );
        lines.push(...page.logs);
        pageToken = page.logs.length === 0 ? '' : page.nextPageToken;
      } while (pageToken !== '' && lines.length < mostLines);
      return lines;
    },
  });
  const lines = query.data ?? [];
  return (
    <section className="card" aria-label="Log">
      <div className="card-head">
        <h2>Log</h2>
        <span className="soft small">{counted(lines.length, 'line')}</span>
      </div>
      {query.error && <FailureNote error={query.error} />}
      {lines.length === 0 ? (
        <p className="card-body soft">
          {isActive
            ? 'Lines appear here as soon as the trainer starts.'
            : 'No lines. Logs are kept for 7 days after the end of a job.'}
        </p>
      ) : (
        <div className="log log-short" role="region" aria-label="Log lines" tabIndex={0}>
          <ol>
            {lines.map((line, at) => {
              const time = msOf(line.time);
              const level = levelOf(line.level);
              return (
                <li key={`${at} ${time}`} className={`log-line log-${level}`}>
                  <time title={time === undefined ? '' : utcMoment(time)}>
                    {time === undefined ? '' : localClock(time)}
                  </time>
                  <span className="log-level">{level}</span>
                  <span className="log-text">{line.message}</span>
                </li>
              );
            })}
          </ol>
        </div>
      )}
    </section>
  );
}
