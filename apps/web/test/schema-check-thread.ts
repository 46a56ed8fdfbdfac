import { parentPort } from 'node:worker_threads';
import { answerCheck } from '../src/features/configure/schema/schema-answer.ts';

/** Its second argument is a list of what is handed over, as in the browser. */
parentPort?.on('message', (job: Parameters<typeof answerCheck>[0]) => parentPort?.postMessage(answerCheck(job), []));
