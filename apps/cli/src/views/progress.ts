import { type TrainingJobMetadata, TrainingStatus } from '@platform/client';
import { formatDuration } from '@platform/kit';
import { percentText, printable } from '../output.ts';
import { cut, displayWidth } from '../terminal-text.ts';
import { statusWord } from './job.ts';

const barCells = 20;
const bar = (share: number): string => {
  const filled = Math.round(Math.max(0, Math.min(1, share)) * barCells);
  return '█'.repeat(filled) + '░'.repeat(barCells - filled);
};

/** The trainer's latest metrics for users: "epoch 3, loss 0.412, validation accuracy 91.2 %". */
function metricsText(job: TrainingJobMetadata): string {
  const newest = job.metrics.reduce<TrainingJobMetadata['metrics'][number] | undefined>(
    (best, one) => (best && best.sequence > one.sequence ? best : one),
    undefined,
  );
  return Object.entries(newest?.values ?? {})
    .filter((entry): entry is [string, number] => typeof entry[1] === 'number' && !/seconds|rate|step/.test(entry[0]))
    .slice(0, 4)
    .map(([name, value]) => {
      const isShare = /accuracy|f1|map|precision|recall/.test(name) && value >= 0 && value <= 1;
      const text = isShare ? percentText(value) : Number.isInteger(value) ? String(value) : value.toPrecision(3);
      return `${name.replaceAll('_', ' ')} ${text}`;
    })
    .join(', ');
}

/** The state of a job in parts, the most important first. */
function stateParts(job: TrainingJobMetadata): string[] {
  if (job.status === TrainingStatus.PENDING) {
    const place = job.queuePosition > 0 ? `position ${job.queuePosition} in the queue` : 'waiting for a host';
    return [job.queuePosition > 0 || job.waitingFor ? 'queued' : 'starting', job.waitingFor || place];
  }
  if (job.status !== TrainingStatus.IN_PROGRESS) return [statusWord(job)];
  const eta = job.eta && job.eta.seconds > 0n ? `about ${formatDuration(Number(job.eta.seconds))} left` : '';
  return [job.phase || 'running', `${Math.floor(job.progress * 100)} %`, eta, metricsText(job)].filter(Boolean);
}

/** One line of at most `width` columns. */
export function progressLine(job: TrainingJobMetadata, width: number): string {
  const [first = '', ...rest] = stateParts(job).map(printable);
  const drawn = job.status === TrainingStatus.IN_PROGRESS ? `${first.padEnd(10)} ${bar(job.progress)}` : first;
  const parts = [drawn, ...rest];
  // Drop the last metrics first if the line is too long.
  while (parts.length > 2 && displayWidth(parts.join('  ')) > width) parts.pop();
  return cut(parts.join('  '), width);
}

interface Terminal {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

export interface ProgressScreen {
  show(job: TrainingJobMetadata): void;
  /** Prints a separate line above the progress. */
  say(text: string): void;
  close(): void;
}

/** A line that redraws itself on a terminal; elsewhere one line per phase and per 10 %. */
export function progressScreen(out: Terminal): ProgressScreen {
  const state = { drawn: '', last: '' };
  const erase = (): void => {
    if (state.drawn !== '') out.write('\r\u001b[2K');
    state.drawn = '';
  };
  const draw = (line: string): void => {
    if (line === state.drawn) return;
    erase();
    out.write(line);
    state.drawn = line;
  };
  return {
    show(job) {
      if (out.isTTY) return draw(progressLine(job, (out.columns ?? 80) - 1));
      const [first = '', ...rest] = stateParts(job);
      const mark = `${first} ${job.status === TrainingStatus.IN_PROGRESS ? Math.floor(job.progress * 10) : rest.join()}`;
      if (mark === state.last) return;
      state.last = mark;
      out.write(`${printable([first, ...rest].join(', '))}\n`);
    },
    say(text) {
      const before = state.drawn;
      erase();
      out.write(`${text}\n`);
      if (before !== '') draw(before);
    },
    close: erase,
  };
}
