import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Code, ConnectError } from '@connectrpc/connect';
import { captureLog, FakeClock } from '@platform/kit/testing';
import type { JobReport, Queue } from './cloud/queue.ts';
import { Reporter } from './reporter.ts';

const none = new AbortController().signal;
const uploading = { phase: 'uploading', progress: 0.97, etaMs: undefined };

/** A server that records reports; a call fails while `fails` returns an error. */
function world() {
  const clock = new FakeClock();
  const server: { reports: JobReport[]; fails: (news: JobReport) => unknown } = { reports: [], fails: () => undefined };
  const queue: Pick<Queue, 'report'> = {
    report: async (_, news, holdMs, signal) => {
      const error = server.fails(news);
      if (error !== undefined) throw error;
      server.reports.push(news);
      await clock.sleep(holdMs, signal);
      return { stop: false };
    },
  };
  const { log, text } = captureLog(clock);
  const reporter = new Reporter(queue as Queue, { jobId: 'job-1', attempt: 1 }, { clock, log });
  const stop = new AbortController();
  return {
    clock,
    server,
    reporter,
    log: text,
    lines: () => server.reports.flatMap(({ logs }) => logs.map(({ message }) => message)),
    /** Runs the reporter; `end` stops it as an attempt does. */
    begin: () => reporter.run(() => {}, stop.signal),
    end: () => stop.abort(),
  };
}
const away = (): ConnectError => new ConnectError('away', Code.Unavailable);

test('a state that came after the last line is reported, too', async () => {
  const w = world();
  const running = w.begin();
  w.reporter.line('info', 'the last line');
  await w.clock.advance(2_000);
  assert.deepEqual([w.lines(), w.server.reports.at(-1)?.phase], [['the last line'], 'preparing']);
  w.reporter.stand(uploading);
  w.end();
  await running;
  await w.reporter.flush(none);
  assert.deepEqual(w.server.reports.at(-1), { ...uploading, logs: [], metrics: [] });
  // A second flush sends nothing again.
  const count = w.server.reports.length;
  await w.reporter.flush(none);
  assert.equal(w.server.reports.length, count);
});

test('the last lines wait for a server that starts again', async () => {
  const w = world();
  w.reporter.line('error', 'why it failed');
  w.server.fails = () => (w.clock.now() < 2_000 ? away() : undefined);
  const flushed = w.reporter.flush(none);
  await w.clock.advance(60_000);
  await flushed;
  assert.deepEqual(w.lines(), ['why it failed']);
});

const hopeless: [string, () => ConnectError][] = [
  ['stays away', away],
  ['has given the job to another runner', () => new ConnectError('LEASE_LOST', Code.Aborted)],
];
for (const [what, error] of hopeless) {
  test(`a server that ${what} does not hold up the end of the job`, async () => {
    const w = world();
    w.reporter.line('info', 'one');
    w.server.fails = error;
    const flushed = w.reporter.flush(none);
    await w.clock.advance(60_000);
    await flushed;
    assert.match(w.log(), /the last lines of the job were not sent/);
    assert.equal(w.clock.pending, 0);
  });
}

test('a runner that is being shut down does not wait for the server', async () => {
  const w = world();
  w.reporter.line('info', 'one');
  w.server.fails = away;
  const shutdown = new AbortController();
  const flushed = w.reporter.flush(shutdown.signal);
  await w.clock.settle();
  shutdown.abort();
  await flushed;
  assert.equal(w.clock.pending, 0);
});
