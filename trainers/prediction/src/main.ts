/** node main.ts --dataset_file=… --model_output_directory=… --job_file=job.json --events_file=events.ndjson */
import '@platform/trainer-engine/close-inherited';
import { runTrainer } from '@platform/trainer-engine/program';
import { predict } from './predict.ts';

await runTrainer(predict);
