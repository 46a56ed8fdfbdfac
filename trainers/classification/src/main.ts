/** node main.ts --dataset_file=… --model_output_directory=… --job_file=job.json --events_file=events.ndjson */
import '@platform/trainer-engine/close-inherited';
import { runTrainer } from '@platform/trainer-engine/program';
import { summaryOf } from './model-card.ts';
import { train } from './train.ts';

await runTrainer(async (training, tmp) => summaryOf(await train(training, tmp)));
