// node e2e/lab/report.ts: writes docs/measurements/lab.md and provisioning.md from the saved results of
// `npm run test:lab`. A document without results stays as it is.
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { checkout } from '../src/up-process.ts';
import { newestResults, type Result } from './results.ts';

const intro = {
  lab: `# The agent on whole machines, measured

Written by \`node e2e/lab/report.ts\` from the last \`npm run test:lab\`. HOSTS

“container” is Debian 12 with systemd as its first process on this host's kernel; “vm” is Debian 12 in an emulated processor (no hardware virtualization), many times slower than the host, with a disk that loses what was not flushed when its plug is pulled. Times depend on the host and on what else it does (its load is in the last column): none of them makes a test fail. What a test wants is the outcome.`,
  provisioning: `# Provisioning over simulated radios, measured

Written by \`node e2e/lab/report.ts\` from the last \`npm run test:lab\`. HOSTS

The device is a virtual machine (Debian 12, systemd, NetworkManager 1.42, the compiled agent) in an emulated processor, many times slower than a real one. Home router, second access point and phone are simulated radios (mac80211_hwsim) of the same machine. The manufacturer's defaults are one minute each for offline_before_starting_hotspot_minutes, retry_connection_timeout_minutes and user_idle_minutes. No time makes a test fail.`,
};

const all = await newestResults();
const isOfRadios = ({ where }: Result): boolean => where === 'radios';
await write(
  'lab',
  all.filter((result) => !isOfRadios(result)),
);
await write('provisioning', all.filter(isOfRadios));

async function write(name: keyof typeof intro, results: readonly Result[]): Promise<void> {
  if (results.length === 0) return;
  const machines = [...new Set(results.map(({ machine }) => machine))];
  const letterOf = (machine: string): string => String.fromCharCode(65 + machines.indexOf(machine));
  const listed = machines.map((machine) => `${letterOf(machine)}: ${machine}.`).join(' ');
  const rows = results.map(
    ({ scenario, where, seconds, note, on, load, machine }) =>
      `| ${scenario} | ${where} | ${seconds} s | ${note} | ${on}, ${letterOf(machine)} | ${load} |`,
  );
  const text = `${intro[name].replace('HOSTS', () => `Measured on the hosts ${listed}`)}

| scenario | where | time | what happened | on | load |
|---|---|---|---|---|---|
${rows.join('\n')}
`;
  const file = path.join(checkout, 'docs', 'measurements', `${name}.md`);
  await writeFile(file, text);
  process.stdout.write(`${path.relative(checkout, file)}: ${rows.length} scenarios\n`);
}
