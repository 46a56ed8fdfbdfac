// node e2e/lab/report.ts: writes docs/measurements/lab.md from the saved results of `npm run test:lab`.
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { checkout } from '../src/up-process.ts';
import { newestResults } from './results.ts';

const results = await newestResults();
const machines = [...new Set(results.map(({ machine }) => machine))];
const letterOf = (machine: string): string => String.fromCharCode(65 + machines.indexOf(machine));
const listed = machines.map((machine) => `${letterOf(machine)}: ${machine}.`).join(' ');
const rows = results.map(
  ({ scenario, where, seconds, note, on, load, machine }) =>
    `| ${scenario} | ${where} | ${seconds} s | ${note} | ${on}, ${letterOf(machine)} | ${load} |`,
);
const text = `# The agent on whole machines, measured

Written by \`node e2e/lab/report.ts\` from the last \`npm run test:lab\`. Measured on the hosts ${listed}

“container” is Debian 12 with systemd as its first process on this host's kernel; “vm” is Debian 12 in an emulated processor (no hardware virtualization), many times slower than the host, with a disk that loses what was not flushed when its plug is pulled. Times depend on the host and on what else it does (its load is in the last column): none of them makes a test fail. What a test wants is the outcome.

| scenario | where | time | what happened | on | load |
|---|---|---|---|---|---|
${rows.join('\n')}
`;
const file = path.join(checkout, 'docs', 'measurements', 'lab.md');
await writeFile(file, text);
process.stdout.write(`${path.relative(checkout, file)}: ${rows.length} scenarios\n`);
