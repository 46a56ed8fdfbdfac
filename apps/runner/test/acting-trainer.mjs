/** Behaves as the model's name says, up to its first dash; the same flags as a real trainer. */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const flags = Object.fromEntries(process.argv.slice(2).map((flag) => /^--([^=]+)=(.*)$/s.exec(flag).slice(1)));
const job = JSON.parse(readFileSync(flags.job_file, 'utf8'));
let sequence = 0;
const tell = (event) =>
  appendFileSync(
    flags.events_file,
    `${JSON.stringify({ sequence: ++sequence, time: new Date().toISOString(), ...event })}\n`,
  );
const say = (message) => tell({ is: 'log', level: 'info', message });
const finish = () => {
  writeFileSync(path.join(flags.model_output_directory, 'm.onnx'), `model of attempt ${job.attempt}`);
  writeFileSync(
    path.join(flags.model_output_directory, 'evaluation.json'),
    JSON.stringify({ accuracy: 0.75, attempt: job.attempt }),
  );
};

const acts = {
  quick() {
    say('begun');
    finish();
  },
  /** Until there is a file `go` in the runner's folder. */
  wait() {
    say(`pid ${process.pid}`);
    const go = path.resolve(path.dirname(flags.job_file), '..', '..', 'go');
    const timer = setInterval(() => {
      if (!existsSync(go)) return;
      clearInterval(timer);
      finish();
    }, 20);
  },
  /** Ends at once on request. */
  obey() {
    say(`pid ${process.pid}`);
    setInterval(() => {}, 1000);
  },
  /** Does not listen. */
  deaf() {
    process.on('SIGTERM', () => {});
    acts.obey();
  },
};
acts[job.model_name.split('-')[0]]();
