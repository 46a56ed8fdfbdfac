/** The runner as its program starts it, with the fake trainer in place of the built-in one. */
import { fileURLToPath } from 'node:url';
import { onSignals } from '@platform/kit/node';
import { readOptions } from '../src/options.ts';
import { startRunner } from '../src/start.ts';

const fakeTrainer = fileURLToPath(new URL('fake-trainer.mjs', import.meta.url));
const { TEST_URL = '', TEST_FOLDER = '' } = process.env;
const env = { PLATFORM_URL: TEST_URL, PLATFORM_API_KEY_ID: 'key-id', PLATFORM_API_KEY: 'key' };
await startRunner(
  readOptions(['--folder', TEST_FOLDER], env),
  { single_label_classification: fakeTrainer },
  onSignals(),
);
process.exit(0);
