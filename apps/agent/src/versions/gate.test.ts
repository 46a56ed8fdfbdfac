// The gate exists twice: as a script that systemd runs before the agent, and as a function for the machine server and
// for an agent without systemd. One table tests both.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, lstat, mkdir, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { tempFolder } from '@platform/kit/testing';
import { posixFileSystem } from '../os/posix/file-system.ts';
import { bootIdFile } from '../os/boot-id.ts';
import { startsFile } from '../os/starts-file.ts';
import { gate, gateText, isDoubtfulStart } from './gate.ts';
import { cutsReason, damagedReason } from '../state/trial-file.ts';

const a = `1.0.0-${'a'.repeat(12)}`;
const b = `1.1.0-${'b'.repeat(12)}`;
const c = `1.2.0-${'c'.repeat(12)}`;

interface Before {
  versions: string[];
  /** Version whose program file is empty. */
  empty?: string;
  /** Target of bin/platform-agent. */
  link?: string;
  back?: string;
  trial?: string;
  bad?: string;
  damaged?: string;
  previous?: string;
  /** The trial cannot be written. */
  isUnwritable?: boolean;
  /** Boot ID of the machine; left out: b2. */
  boot?: string;
  /** Starts since the last sign of life of an agent. */
  starts?: number;
  /** Per version: the content that its stored hash belongs to. */
  sums?: Record<string, string>;
  /** Unit of systemd on the disk. */
  unit?: string;
  unitBefore?: string;
}
interface After {
  link: string | undefined;
  trial?: string;
  bad?: string;
  damaged?: string;
  unit?: string;
  unitBefore?: string;
}
const to = (id: string) => `../versions/${id}/platform-agent`;

const rows: [name: string, before: Before, after: After][] = [
  ['nothing at all', { versions: [] }, { link: undefined }],
  ['no trial', { versions: [a], link: a }, { link: a }],
  [
    'first start',
    { versions: [a, b], link: b, trial: `${a} ${b} 0 2 77 cloud\n` },
    { link: b, trial: `${a} ${b} 1 2 77 cloud b2 0\n` },
  ],
  [
    'third start',
    { versions: [a, b], link: b, trial: `${a} ${b} 2 0 7 local\n` },
    { link: b, trial: `${a} ${b} 3 0 7 local b2 0\n` },
  ],
  [
    'no more starts',
    { versions: [a, b], link: b, trial: `${a} ${b} 3 4 7 cloud\n` },
    { link: a, bad: `${b} 4 NOW it did not pass the health check in 3 starts\n` },
  ],
  [
    'no more starts, and the way back lies ready',
    { versions: [a, b], link: b, back: a, trial: `${a} ${b} 3 4 7 cloud\n` },
    { link: a, bad: `${b} 4 NOW it did not pass the health check in 3 starts\n` },
  ],
  [
    'no more starts, and a way back to another',
    { versions: [a, b, c], link: b, back: c, trial: `${a} ${b} 3 4 7 cloud\n` },
    { link: a, bad: `${b} 4 NOW it did not pass the health check in 3 starts\n` },
  ],
  ['a way back that is left over', { versions: [a, b], link: b, back: a }, { link: b }],
  [
    'no more starts, and another bad one',
    { versions: [a, b], link: b, trial: `${a} ${b} 9 0 7 local\n`, bad: `${c} 0 5 it hangs\n${b} 0 6 earlier\n` },
    { link: a, bad: `${c} 0 5 it hangs\n${b} 0 NOW it did not pass the health check in 3 starts\n` },
  ],
  [
    'a line of three words',
    { versions: [a, b], link: b, trial: `${a} ${b} 1` },
    { link: b, trial: `${a} ${b} 2 0 0 local b2 0\n` },
  ],
  ['a trial that was never switched to', { versions: [a, b], link: a, trial: `${a} ${b} 0 0 7 local\n` }, { link: a }],
  [
    'a trial of another than the one in use',
    { versions: [a, b, c], link: b, trial: `${a} ${c} 2 0 7 local b1 4\n` },
    { link: b, trial: `${a} ${b} 1 0 7 local b2 0\n` },
  ],
  ['no way back', { versions: [b], link: b, trial: `${a} ${b} 3 0 7 local\n` }, { link: b }],
  [
    'starts that cannot be counted',
    { versions: [a, b], link: b, trial: `${a} ${b} 1 0 7 local\n`, isUnwritable: true },
    { link: a, trial: `${a} ${b} 1 0 7 local\n` },
  ],
  [
    'the machine went down during the last start: it is made again',
    { versions: [a, b], link: b, trial: `${a} ${b} 3 0 7 cloud b1 0\n` },
    { link: b, trial: `${a} ${b} 3 0 7 cloud b2 1\n` },
  ],
  [
    'the same start of the machine: it failed',
    { versions: [a, b], link: b, trial: `${a} ${b} 1 0 7 cloud b2 3\n` },
    { link: b, trial: `${a} ${b} 2 0 7 cloud b2 3\n` },
  ],
  [
    'a stop was requested',
    { versions: [a, b], link: b, trial: `${a} ${b} 3 0 7 cloud interrupted 0\n` },
    { link: b, trial: `${a} ${b} 3 0 7 cloud b2 1\n` },
  ],
  [
    'the machine went down before the first start was counted',
    { versions: [a, b], link: b, trial: `${a} ${b} 0 0 7 cloud b1 0\n` },
    { link: b, trial: `${a} ${b} 1 0 7 cloud b2 0\n` },
  ],
  [
    'the machine went down with it for the fifth time',
    { versions: [a, b], link: b, trial: `${a} ${b} 1 4 7 cloud b1 4\n` },
    { link: b, trial: `${a} ${b} 1 4 7 cloud b2 5\n` },
  ],
  [
    'the machine goes down with it again and again',
    { versions: [a, b], link: b, trial: `${a} ${b} 1 4 7 cloud b1 5\n` },
    { link: a, bad: `${b} 4 NOW ${cutsReason}\n` },
  ],
  [
    'a machine that does not say which start it is: a failure',
    { versions: [a, b], link: b, trial: `${a} ${b} 3 4 7 cloud b1 0\n`, boot: '' },
    { link: a, bad: `${b} 4 NOW it did not pass the health check in 3 starts\n` },
  ],
  [
    'a machine that did not say it the last time: a failure',
    { versions: [a, b], link: b, trial: `${a} ${b} 1 4 7 cloud - 2\n` },
    { link: b, trial: `${a} ${b} 2 4 7 cloud b2 2\n` },
  ],
  [
    'a trial of an older agent, which knew of no power cuts',
    { versions: [a, b], link: b, trial: `${a} ${b} 2 4 7 cloud\n` },
    { link: b, trial: `${a} ${b} 3 4 7 cloud b2 0\n` },
  ],
  [
    'what cannot be a start of a machine, or a number',
    { versions: [a, b], link: b, trial: `${a} ${b} 2 4 7 cloud $(reboot) 08\n` },
    { link: b, trial: `${a} ${b} 3 4 7 cloud b2 0\n` },
  ],
  ['starts that a shell cannot count', { versions: [a, b], link: b, trial: `${a} ${b} 08 0 7 local\n` }, { link: b }],
  [
    'more starts than there can be',
    { versions: [a, b], link: b, trial: `${a} ${b} 99999999999999999999 0 7 local\n` },
    { link: b },
  ],
  ['an empty trial', { versions: [a, b], link: b, trial: '' }, { link: b }],
  ['rubbish', { versions: [a, b], link: b, trial: '\0\0\0\0\0\0' }, { link: b }],
  ['rubbish of a kind', { versions: [a, b], link: b, trial: `../../x ${b} 0\n` }, { link: b }],
  ['starts that are not a number', { versions: [a, b], link: b, trial: `${a} ${b} many 0 7 local\n` }, { link: b }],
  ['the link is gone: the previous one', { versions: [a, b, c], previous: `${b}\n` }, { link: b }],
  ['its version is gone: the previous one', { versions: [a, b], link: c, previous: `${a}\n` }, { link: a }],
  ['its file is empty: the previous one', { versions: [a, b, c], empty: c, link: c, previous: `${a}\n` }, { link: a }],
  ['its version is gone: any', { versions: [a, b], link: c }, { link: b }],
  [
    'on trial and gone: the one before it',
    { versions: [a, b], link: c, trial: `${a} ${c} 1 0 7 local\n` },
    { link: a },
  ],
  [
    'it ends again and again, and is damaged: the one before it',
    { versions: [a, b], link: b, previous: `${a}\n`, starts: 3, sums: { [b]: 'something else' } },
    { link: a },
  ],
  [
    'it is damaged on trial',
    { versions: [a, b], link: b, trial: `${a} ${b} 2 0 7 local b2 0\n`, starts: 8, sums: { [b]: 'something else' } },
    { link: a, damaged: `${b}\n` },
  ],
  [
    'no more starts, and the disk has damaged it: no word against the version',
    { versions: [a, b], link: b, trial: `${a} ${b} 3 4 7 cloud\n`, sums: { [b]: 'something else' } },
    { link: a, damaged: `${b}\n` },
  ],
  [
    'no more starts, damaged for the second time; another was before',
    { versions: [a, b], link: b, trial: `${a} ${b} 3 4 7 cloud\n`, sums: { [b]: 'x' }, damaged: `${c}\n${b}\n` },
    { link: a, damaged: `${b}\n${b}\n` },
  ],
  [
    'no more starts, damaged for the third time',
    { versions: [a, b], link: b, trial: `${a} ${b} 3 4 7 cloud\n`, sums: { [b]: 'x' }, damaged: `${b}\n${b}\n` },
    { link: a, damaged: `${b}\n${b}\n${b}\n`, bad: `${b} 4 NOW ${damagedReason}\n` },
  ],
  [
    'it ends again and again on trial, damaged for the third time',
    {
      versions: [a, b],
      link: b,
      trial: `${a} ${b} 2 4 7 local b2 0\n`,
      starts: 8,
      sums: { [b]: 'x' },
      damaged: `${b}\n${b}\n`,
    },
    { link: a, damaged: `${b}\n${b}\n${b}\n`, bad: `${b} 4 NOW ${damagedReason}\n` },
  ],
  [
    'no more starts, and it is whole',
    { versions: [a, b], link: b, trial: `${a} ${b} 3 4 7 cloud\n`, sums: { [b]: b }, damaged: `${b}\n` },
    { link: a, bad: `${b} 4 NOW it did not pass the health check in 3 starts\n` },
  ],
  ['it ends again and again, and is whole', { versions: [a, b], link: b, starts: 3, sums: { [b]: b } }, { link: b }],
  [
    'damaged, and there is no other',
    { versions: [b], link: b, starts: 3, sums: { [b]: 'something else' } },
    { link: b },
  ],
  [
    'damaged, and it is not the turn to look',
    { versions: [a, b], link: b, starts: 2, sums: { [b]: 'something else' } },
    { link: b },
  ],
  ['its checksum is unknown', { versions: [a, b], link: b, starts: 3 }, { link: b }],
  ['its sum is rubbish', { versions: [a, b], link: b, starts: 3, sums: { [b]: '' } }, { link: b }],
  [
    'it failed: its unit goes with it',
    { versions: [a, b], link: b, trial: `${a} ${b} 3 4 7 cloud b2 0\n`, unit: 'new', unitBefore: 'old' },
    { link: a, bad: `${b} 4 NOW it did not pass the health check in 3 starts\n`, unit: 'old' },
  ],
  [
    'it is still tried: its unit stays',
    { versions: [a, b], link: b, trial: `${a} ${b} 1 0 7 cloud b2 0\n`, unit: 'new', unitBefore: 'old' },
    { link: b, trial: `${a} ${b} 2 0 7 cloud b2 0\n`, unit: 'new', unitBefore: 'old' },
  ],
  [
    'the power went before the switch: the unit of the version in use',
    { versions: [a, b], link: a, trial: `${a} ${b} 0 0 7 cloud b1 0\n`, unit: 'new', unitBefore: 'old' },
    { link: a, unit: 'old' },
  ],
  [
    'the unit before was lost',
    { versions: [a, b], link: a, trial: `${a} ${b} 0 0 7 cloud b1 0\n`, unit: 'new', unitBefore: '' },
    { link: a, unit: 'new' },
  ],
  [
    'its starts cannot be counted: its unit goes with it',
    {
      versions: [a, b],
      link: b,
      trial: `${a} ${b} 0 0 7 cloud b1 0\n`,
      isUnwritable: true,
      unit: 'new',
      unitBefore: 'old',
    },
    { link: a, trial: `${a} ${b} 0 0 7 cloud b1 0\n`, unit: 'old' },
  ],
  ['a link to somewhere else', { versions: [a], link: '/usr/bin/true' }, { link: a }],
];

async function world(before: Before) {
  const folder = await tempFolder();
  for (const name of ['bin', 'state', 'versions']) await mkdir(folder.file(name));
  for (const id of before.versions) {
    await mkdir(folder.file('versions', id));
    await writeFile(folder.file('versions', id, 'platform-agent'), id === before.empty ? '' : id);
  }
  if (before.link !== undefined) {
    await symlink(before.link.startsWith('/') ? before.link : to(before.link), folder.file('bin/platform-agent'));
  }
  if (before.back !== undefined) await symlink(to(before.back), folder.file('bin/platform-agent.back'));
  for (const what of ['trial', 'bad', 'damaged', 'previous'] as const) {
    if (before[what] !== undefined) await writeFile(folder.file(`state/platform-agent.${what}`), before[what]);
  }
  for (const [id, content] of Object.entries(before.sums ?? {})) {
    const sum = createHash('sha256').update(content).digest('hex');
    await writeFile(folder.file('versions', id, 'sha256'), content === '' ? 'rubbish\n' : sum);
  }
  if (before.starts !== undefined) await writeFile(folder.file('starts'), `${before.starts}\n`);
  await writeFile(folder.file('boot_id'), before.boot === '' ? '' : `${before.boot ?? 'b2'}\n`);
  if (before.unit !== undefined) {
    await mkdir(folder.file('units'));
    await writeFile(folder.file('units/agent.service'), before.unit);
    await writeFile(folder.file('state/unit.place'), 'units/agent.service\n');
  }
  if (before.unitBefore !== undefined) await writeFile(folder.file('state/unit.before'), before.unitBefore);
  if (before.isUnwritable) await mkdir(folder.file('state/platform-agent.trial.tmp'));
  return folder;
}

async function treeOf(root: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  await rm(path.join(root, 'starts'), { force: true }); // written by the script only
  for (const name of await readdir(root, { recursive: true })) {
    const file = path.join(root, name);
    const entry = await lstat(file);
    if (entry.isSymbolicLink()) found[name] = `-> ${await readlink(file)}`;
    else if (entry.isFile()) found[name] = (await readFile(file, 'utf8')).replace(/ \d{10} /g, ' NOW ');
  }
  return found;
}

const run = promisify(execFile);
const shell = async (root: string) => {
  await mkdir(path.join(root, 'lib'));
  assert.ok(gateText.includes(bootIdFile));
  await writeFile(
    path.join(root, 'lib/gate'),
    gateText.replaceAll(bootIdFile, 'boot_id').replaceAll(startsFile, 'starts'),
  );
  await chmod(path.join(root, 'lib/gate'), 0o755);
  await run('/bin/sh', [path.join(root, 'lib/gate'), root]);
};
const twin = async (root: string) => {
  const boot = (await readFile(path.join(root, 'boot_id'), 'utf8')).trim();
  const starts = Number(await readFile(path.join(root, 'starts'), 'utf8').catch(() => '0'));
  const files = posixFileSystem(root);
  const unit = { files, path: 'units/agent.service' };
  return gate(files, 'agent', { nowSeconds: 1_767_225_600, boot, isDoubtful: isDoubtfulStart(starts), unit });
};

for (const [name, before, after] of rows) {
  test(`gate: ${name}`, async () => {
    const trees: Record<string, string>[] = [];
    for (const act of [shell, twin]) {
      await using folder = await world(before);
      await act(folder.path);
      const { 'lib/gate': _, ...tree } = await treeOf(folder.path);
      trees.push(tree);
      const link = tree['bin/platform-agent'];
      assert.deepEqual(
        {
          link,
          trial: tree['state/platform-agent.trial'],
          bad: tree['state/platform-agent.bad'],
          damaged: tree['state/platform-agent.damaged'],
          unit: tree['units/agent.service'],
          unitBefore: tree['state/unit.before'],
        },
        {
          link: after.link === undefined ? undefined : `-> ${to(after.link)}`,
          trial: after.trial,
          bad: after.bad ?? before.bad,
          damaged: after.damaged ?? before.damaged,
          unit: after.unit,
          unitBefore: after.unitBefore,
        },
        act.name,
      );
    }
    assert.deepEqual(trees[0], trees[1]);
  });
}

test('the script is POSIX: it runs in dash and in bash --posix, and does nothing for a folder that is not there', async () => {
  await using folder = await world({ versions: [] });
  await writeFile(folder.file('gate'), gateText);
  for (const sh of [['sh'], ['bash', '--posix']]) {
    await run(sh[0]!, [...sh.slice(1), folder.file('gate'), folder.file('none')]).catch((error: { stderr: string }) =>
      assert.match(error.stderr, /none/),
    );
  }
});
