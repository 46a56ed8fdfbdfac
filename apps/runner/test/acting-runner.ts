/** The runner as its program starts it, options and all, with a trainer that does what the model's name says. */
import { fileURLToPath } from 'node:url';
import { onSignals } from '@platform/kit/node';
import { readOptions } from '../src/options.ts';
import { startRunner } from '../src/start.ts';

const trainer = fileURLToPath(new URL('acting-trainer.mjs', import.meta.url));
const stop = onSignals();
const drain = new AbortController();
process.on('SIGUSR2', () => drain.abort());
const trainers = { single_label_classification: trainer };
// Its trainers wait for files beside the job folder, and name their processes.
const argv = [...process.argv.slice(2), '--no-trainer-sandbox'];
await startRunner(readOptions(argv, process.env), trainers, stop, drain.signal);
process.exit(0);
