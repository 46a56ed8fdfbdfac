/** Checks attributes beside the page, which ends it when a schema never ends. */
import { answerCheck } from './schema-answer.ts';
import type { CheckJob } from './schema-checker.ts';

self.addEventListener('message', ({ data }: MessageEvent<CheckJob>) =>
  self.postMessage(answerCheck(data), { transfer: [] }),
);
// The page's limit of time begins when this program has loaded.
self.postMessage('ready', { transfer: [] });
