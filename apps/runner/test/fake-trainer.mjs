/** Behaves as job.json's argument `act` says; the same flags as a real trainer. */
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';

const flags = Object.fromEntries(process.argv.slice(2).map((flag) => /^--([^=]+)=(.*)$/s.exec(flag).slice(1)));
const job = JSON.parse(readFileSync(flags.job_file, 'utf8'));
const out = flags.model_output_directory;
let sequence = 0;
const tell = (event) =>
  appendFileSync(
    flags.events_file,
    `${JSON.stringify({ sequence: ++sequence, time: new Date().toISOString(), ...event })}\n`,
  );
const forever = () => setInterval(() => {}, 1000);

const acts = {
  succeed() {
    const lines = readFileSync(flags.dataset_file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const seen = lines.map((line) =>
      readFileSync(path.join(path.dirname(flags.dataset_file), line.image_path), 'utf8'),
    );
    tell({ is: 'log', level: 'info', message: 'begun' });
    tell({ is: 'progress', phase: 'training', progress: 0.5, eta_seconds: 3 });
    tell({ is: 'metric', values: { epoch: 1, stage: 'probe', loss: 0.25 } });
    tell({ is: 'warning', code: 'INVALID_IMAGE', message: 'Skipped one.' });
    console.log('a line on stdout');
    console.error('a line on stderr');
    mkdirSync(path.join(out, 'tmp'));
    mkdirSync(path.join(out, 'more'));
    writeFileSync(path.join(out, 'tmp', 'scratch'), 'x');
    writeFileSync(path.join(out, 'm.onnx'), seen.join('|'));
    writeFileSync(path.join(out, 'more', 'labels.txt'), 'a');
    writeFileSync(path.join(out, 'evaluation.json'), JSON.stringify({ accuracy: 0.75, attempt: job.attempt }));
    writeFileSync(path.join(out, 'env.json'), JSON.stringify(Object.keys(process.env).toSorted()));
  },
  nothing() {},
  /** What a program in its place can see and do. */
  async look() {
    const tried = (file) => {
      try {
        writeFileSync(file, 'x');
        return [file];
      } catch {
        return [];
      }
    };
    const checkout = path.resolve(path.dirname(process.argv[1]), '../../..');
    const secret = ['/root', '/home', '/etc/shadow', '/var', '/run', `${checkout}/.git`, `${checkout}/apps/cloud`];
    const lines = readFileSync(flags.dataset_file, 'utf8').trim().split('\n');
    const seen = {
      uid: process.getuid(),
      nice: os.getPriority(),
      job: readdirSync(path.dirname(flags.job_file)).toSorted(),
      readable: lines.map((line) =>
        readFileSync(path.join(path.dirname(flags.dataset_file), JSON.parse(line).image_path), 'utf8'),
      ),
      there: secret.filter((file) => existsSync(file)),
      written: [
        '/job/out/w',
        '/tmp/w',
        '/job/w',
        '/job/data/w',
        '/job/dataset.jsonl',
        '/usr/w',
        '/etc/w',
        '/w',
      ].flatMap(tried),
      processes: readdirSync('/proc').filter((name) => /^\d+$/.test(name)).length,
      network: await new Promise((resolve) => {
        const socket = net.connect(53, '192.0.2.1');
        socket.on('error', (error) => resolve(error.code));
        socket.on('connect', () => resolve('connected'));
      }),
    };
    writeFileSync(path.join(out, 'seen.json'), JSON.stringify(seen));
  },
  /** Files that a model version may have, and others. */
  misname() {
    acts.succeed();
    mkdirSync(path.join(out, 'run:1'));
    for (const name of ['a:b', 'x'.repeat(201), 'run:1/weights', 'turned\u202Etxt.exe']) {
      writeFileSync(path.join(out, name), 'x');
    }
  },
  bad() {
    tell({ is: 'error', code: 'TOO_FEW_LABELS', message: 'Classification needs at least 2 labels.' });
    process.exitCode = 65;
  },
  crash() {
    console.error('first line\nlast line');
    process.exitCode = 3;
  },
  hang() {
    tell({ is: 'log', level: 'info', message: `pid ${process.pid}` });
    const gpus = process.env.CUDA_VISIBLE_DEVICES;
    if (gpus) tell({ is: 'log', level: 'info', message: `gpu ${gpus}` });
    forever();
  },
  obey() {
    process.on('SIGTERM', () => {
      tell({ is: 'log', level: 'info', message: 'stopping' });
      process.exit(143);
    });
    acts.hang();
  },
  deaf() {
    process.on('SIGTERM', () => {});
    acts.hang();
  },
  grow() {
    const kept = [];
    setInterval(() => kept.push(Buffer.alloc(20 * 2 ** 20, 1)), 20);
  },
};
acts[job.arguments.act ?? 'succeed']();
