/** The runner as its program starts it, with the fake trainer in place of the built-in one; `attempt` as a cluster starts it. */
import { fileURLToPath } from 'node:url';
import { onSignals } from '@platform/kit/node';
import { startAttempt } from '../src/executor/start-attempt.ts';
import { readAttemptOptions, readOptions } from '../src/options.ts';
import { startRunner } from '../src/start.ts';

const trainers = { single_label_classification: fileURLToPath(new URL('fake-trainer.mjs', import.meta.url)) };
const [first, ...rest] = process.argv.slice(2);
const stop = onSignals();
// Its trainers name their processes, as they are outside.
const open = '--no-trainer-sandbox';
if (first === 'attempt') {
  process.exit(await startAttempt(readAttemptOptions([...rest, open], process.env), trainers, stop));
}
const { TEST_URL = '', TEST_FOLDER = '' } = process.env;
const env = { PLATFORM_URL: TEST_URL, PLATFORM_RUNNER_TOKEN: 'key-id:key' };
await startRunner(readOptions(['--folder', TEST_FOLDER, open, ...process.argv.slice(2)], env), trainers, stop);
process.exit(0);
