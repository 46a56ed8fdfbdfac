// node e2e/lab/report.ts: writes docs/measurements/lab.md, provisioning.md, operations.md and arm64.md from the saved
// results of `npm run test:lab` and `npm run test:nightly`. Rows without a newer result stay as they are.
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { checkout } from '../src/up-process.ts';
import { earlierResults, merged } from './earlier-results.ts';
import { newestResults, type Result } from './results.ts';

const intro = {
  lab: `# The agent on whole machines, measured

Written by \`node e2e/lab/report.ts\` from results of \`npm run test:lab\`. HOSTS

“container” is Debian 12 with systemd as its first process on this host's kernel; “vm” is Debian 12 in an emulated processor (no hardware virtualization), many times slower than the host, with a disk that loses what was not flushed when its plug is pulled. Times depend on the host and on what else it does (its load is in the last column): none of them makes a test fail. What a test wants is the outcome.`,
  provisioning: `# Provisioning over simulated radios, measured

Written by \`node e2e/lab/report.ts\` from results of \`npm run test:lab\`. HOSTS

The device is a virtual machine (Debian 12, systemd, NetworkManager 1.42, the compiled agent) in an emulated processor, many times slower than a real one. Home router, second access point and phone are simulated radios (mac80211_hwsim) of the same machine. The manufacturer's defaults are one minute each for offline_before_starting_hotspot_minutes, retry_connection_timeout_minutes and user_idle_minutes. No time makes a test fail. \`commit\` is the checkout that was measured (a plus sign: with changed files), of older rows the one that recorded them.`,
  operations: `# Operation of a server, measured

Written by \`node e2e/lab/report.ts\` from results of \`npm run test:lab\`. HOSTS

Proxies, containers and commands of the [pages on operation](../operations/README.md), with the real programs of Debian 12. No time makes a test fail.`,
  arm64: `# The agent on arm64, measured

Written by \`node e2e/lab/report.ts\` from results of \`npm run test:nightly\`. HOSTS

The machine is Debian 12 for arm64 with systemd and its own kernel, in an emulated processor (cortex-a72, that of a Raspberry Pi 4), many times slower than a real one: its times and its share of the processor say nothing about a real device. Sizes, memory and wake-ups do. No time makes a test fail.`,
};

/** What each row of provisioning.md proves, by the start of its scenario. */
const proofs: readonly [proof: string, ...scenarios: string[]][] = [
  ['a: first set-up by a phone', 'boot of a fresh device', 'right password'],
  ['b: wrong password', 'wrong password'],
  ['c: open network', 'an open network'],
  ['d: hidden network', 'a hidden network'],
  ['e: router off and on', 'router off, until the hotspot', 'router on again'],
  ['f: a user is not interrupted', 'the user is idle'],
  ['g: additional networks', 'two networks', 'the lower one', 'no WiFi, cable in'],
  ['h: cable in hotspot mode', 'cable in hotspot mode'],
  ['i: names that end in .setup', 'only names'],
  ['j: change that cuts the link', 'a change that cuts'],
  ['k: power cuts', 'power cut'],
  ['l: reboots while offline', 'router off, until the first reboot', 'from the first reboot', 'second reboot'],
  ['m: Bluetooth', 'Bluetooth'],
  ['n: WPA3', 'a network with WPA3'],
  ['o: wrong clock', 'boot with a clock', 'clock set'],
  ['p: calls of an app', 'five calls'],
  ['q: WPA2-enterprise', 'WPA2-enterprise'],
  ['r: country of the radio', 'a country', 'a new country'],
  ['s: leave over the WiFi in use', 'cold boot', 'uninstall'],
  ['t: random walk of failures', 'random walk'],
  [
    'u: single rows of network_configuration',
    'hotspot_interface',
    'wifi_power_save',
    'disable_captive_portal_redirect',
    'rule 3',
    'rule 4',
    'captive upstream',
    'IPv6 only',
    'password changed',
  ],
  ['v: the internet dies after a good join', 'roaming:', 'single:', 'DHCP is silent'],
];

const proofOf = ({ scenario }: Result): string =>
  proofs.find(([, ...starts]) => starts.some((start) => scenario.startsWith(start)))?.[0] ?? '';

const byProof = (a: Result, b: Result): number => proofOf(a).localeCompare(proofOf(b));

const measured = await newestResults();
const documentOf = ({ where }: Result): keyof typeof intro =>
  where === 'radios' ? 'provisioning' : where === 'arm64' || where === 'operations' ? where : 'lab';
const { lab = [], provisioning = [], arm64 = [], operations = [] } = Object.groupBy(measured, documentOf);
await write('lab', lab);
await write('provisioning', provisioning);
await write('arm64', arm64);
await write('operations', operations);

async function write(name: keyof typeof intro, results: readonly Result[]): Promise<void> {
  if (results.length === 0) return;
  const file = path.join(checkout, 'docs', 'measurements', `${name}.md`);
  const earlier = earlierResults(await readFile(file, 'utf8')).map((result) =>
    name === 'provisioning' ? { ...result, where: 'radios' } : result,
  );
  const all = merged(earlier, results);
  await writeFile(file, textOf(name, name === 'provisioning' ? all.toSorted(byProof) : all));
  process.stdout.write(`${path.relative(checkout, file)}: ${results.length} of ${all.length} scenarios\n`);
}

function textOf(name: keyof typeof intro, results: readonly Result[]): string {
  const machines = [...new Set(results.map(({ machine }) => machine))];
  const letterOf = (machine: string): string => String.fromCharCode(65 + machines.indexOf(machine));
  const listed = machines.map((machine) => `${letterOf(machine)}: ${machine}.`).join(' ');
  const firstOf = (result: Result): string => `${name === 'provisioning' ? proofOf(result) : result.where} | `;
  const rows = results.map(
    (result) =>
      `| ${firstOf(result)}${result.scenario} | ${result.seconds} s | ${result.note} | ${result.on}, ${letterOf(result.machine)} | ${result.load} | ${result.commit} |`,
  );
  return `${intro[name].replace('HOSTS', () => `Measured on the hosts ${listed}`)}

| ${name === 'provisioning' ? 'proof' : 'where'} | scenario | time | what happened | on | load | commit |
|---|---|---|---|---|---|---|
${rows.join('\n')}
`;
}
