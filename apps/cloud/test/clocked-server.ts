/**
 * The management server as its program starts it, on a clock that the parent drives by lines on stdin.
 * `advance <ms>` moves both clocks, `jump <ms>` only the wall clock. The program answers each by a line on stdout.
 * JUMPED_MS: the initial offset of the wall clock.
 */
import { createInterface } from 'node:readline';
import { createLog } from '@platform/kit';
import { onSignals, stderrSink } from '@platform/kit/node';
import { cloudOptions } from '../src/options.ts';
import { startServer } from '../src/server.ts';
import { turnedClock } from './turned-clock.ts';

const { clock, advance, jump } = turnedClock(Number(process.env['JUMPED_MS'] ?? 0));
const say = (answer: object): boolean => process.stdout.write(`${JSON.stringify(answer)}\n`);

const stopped = onSignals();
const options = cloudOptions(process.argv.slice(2), {});
const log = createLog({ name: 'cloud', clock, level: options.logLevel, sink: stderrSink('text') });
const server = await startServer(options, { clock, log });
const { url, firstRun, dataFolder } = server;
say({
  url,
  data_dir: dataFolder,
  org_id: firstRun.orgId,
  api_key_id: firstRun.apiKeyId,
  api_key: firstRun.apiKey,
  runner_key_id: firstRun.runnerKeyId,
  runner_key: firstRun.runnerKey,
});
createInterface({ input: process.stdin }).on('line', (line) => {
  const [what, by] = line.split(' ');
  if (what === 'advance') advance(Number(by));
  else jump(Number(by));
  say({ did: line });
});
stopped.addEventListener('abort', () => void server.close().then(() => process.exit(0)), { once: true });
