// Folders of the operating system that cannot be written, on real file systems: what is reported, and that no file of a user is
// lost.
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { tempFolder } from '@platform/kit/testing';
import { originsFile, periodicFile } from '../src/system/apt-files.ts';
import { journaldFile } from '../src/system/journald.ts';
import { aptMachine, owners } from './apt-machine.ts';
import { skipWithoutMounts as skip, smallDisks } from './small-disk.ts';
import { agentOn } from './system-agent.ts';

const before: Readonly<Record<string, string>> = {
  [journaldFile]: '[Journal]\nSystemMaxUse=1G\n',
  [periodicFile]: owners[periodicFile] ?? '',
  // Larger than a page, so that a copy of it does not fit where a page is free.
  [originsFile]: `// of a user\n${'Unattended-Upgrade::Mail "admin@example.org";\n'.repeat(150)}`,
};
const files = Object.keys(before);
const managed = {
  system_configuration: { logging_journald_system_max_use_megabytes: 64, os_auto_upgrade_type: 'security' },
};
const disabled = { ...managed, advanced_settings: { disable_system_configuration: true } };

/** A machine with these folders on small disks of their own. */
async function machineOn(places: { etc?: boolean; apt?: boolean; state?: boolean }) {
  const folder = await tempFolder();
  const [etc, apt, state] = ['system/etc', 'system/etc/apt/apt.conf.d', 'opt/state'].map((name) =>
    folder.file(name),
  ) as [string, string, string];
  const disks = await smallDisks([
    ...(places.etc ? [etc] : []),
    ...(places.apt ? [apt] : []),
    ...(places.state ? [state] : []),
  ]);
  const at = await aptMachine(undefined, {
    prefix: disks.inside(folder.file('system')),
    root: disks.inside(folder.file('opt')),
  });
  at.world.isInstalled = true;
  for (const [file, text] of Object.entries(before)) await at.put(file, text);
  const agent = agentOn(at);
  return {
    etc,
    apt,
    state,
    disks,
    at,
    agent,
    messages: (): string[] => at.conditions.get().map(({ code, message }) => `${code} ${message}`),
    texts: (): Promise<(string | undefined)[]> => Promise.all(files.map((file) => at.read(file))),
    async [Symbol.asyncDispose]() {
      await agent.stop();
      await at[Symbol.asyncDispose]();
      await disks[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}
const hour = 3_600_000;

test('a read-only /etc: one condition for each part, few attempts, and it goes with its cause', { skip }, async () => {
  await using m = await machineOn({ etc: true });
  const { at, agent, disks, etc } = m;
  const notApplied = (): number => at.logged().filter((line) => line.includes('is not applied')).length;
  disks.setReadOnly(etc, true);
  agent.receive(1, managed);
  await agent.until('both parts report it', () => m.messages().length === 2);
  const reason = (file: string): string => `${file} cannot be written: the file system is read-only.`;
  assert.deepEqual(m.messages().toSorted(), [
    `SYSTEM_NOT_APPLIED The system_configuration is not applied (journald): ${reason(journaldFile)}`,
    `SYSTEM_NOT_APPLIED The system_configuration is not applied (upgrades): ${reason(originsFile)}`,
  ]);
  assert.match(at.conditions.get()[0]?.remedy ?? '', /remount the file system/);
  const shown = at.conditions.get();
  const [start, count] = [at.clock.now(), notApplied()];
  await agent.until('a day', () => at.clock.now() > start + 24 * hour, hour / 4);
  assert.ok(notApplied() - count < 40, `${notApplied() - count} attempts of two parts in a day`);
  assert.deepEqual(at.conditions.get(), shown, 'the same conditions, with their time');
  assert.equal(agent.revision(), 0);
  assert.deepEqual(await m.texts(), Object.values(before));
  disks.setReadOnly(etc, false);
  await agent.until('applied', () => agent.revision() === 1, hour);
  assert.deepEqual(m.messages(), []);
  assert.match((await at.read(journaldFile)) ?? '', /SystemMaxUse=64M/);

  disks.setReadOnly(etc, true);
  agent.receive(2, disabled);
  await agent.until('both parts report it again', () => m.messages().length === 2);
  disks.setReadOnly(etc, false);
  await agent.until('restored', () => agent.revision() === 2, hour);
  assert.deepEqual(await m.texts(), Object.values(before));
  await agent.reports(
    `disable_system_configuration is true; restored: ${[journaldFile, originsFile, periodicFile].join(', ')}`,
  );
});

test('an /etc/apt/apt.conf.d that is read-only: one condition; the other part is applied', { skip }, async () => {
  await using m = await machineOn({ apt: true });
  m.disks.setReadOnly(m.apt, true);
  m.agent.receive(1, managed);
  await m.agent.until('the condition', () => m.messages().length > 0);
  while (!/SystemMaxUse=64M/.test((await m.at.read(journaldFile)) ?? '')) await m.at.clock.advance(1_000);
  assert.deepEqual(m.messages(), [
    `SYSTEM_NOT_APPLIED The system_configuration is not applied (upgrades): ${originsFile} cannot be written: the file system is read-only.`,
  ]);
  m.disks.setReadOnly(m.apt, false);
  await m.agent.until('applied', () => m.agent.revision() === 1, hour);
  assert.deepEqual(m.messages(), []);
});

test('a full disk while files of apt are written: no text of a user is lost', { skip }, async () => {
  await using m = await machineOn({ apt: true });
  const { at, agent, disks, apt } = m;
  const full = (file: string): string =>
    `SYSTEM_NOT_APPLIED The system_configuration is not applied (upgrades): ${file} cannot be written: the disk is full.`;
  const left = async (): Promise<string[]> =>
    (await readdir(disks.inside(apt))).filter((name) => name.endsWith('.tmp'));
  disks.fill(apt);
  agent.receive(1, managed);
  await agent.until('the first write fails', () => m.messages().includes(full(originsFile)));
  assert.deepEqual([await at.read(originsFile), await left()], [before[originsFile], []]);
  disks.free(apt);
  await agent.until('written', () => agent.revision() === 1, hour);
  assert.deepEqual(m.messages(), []);

  // A user changes the file of the agent; the copy does not fit.
  const edited = `// edited\n${before[originsFile]}`;
  await at.put(originsFile, edited);
  disks.fill(apt);
  agent.receive(2, managed);
  // That the user's text is in effect may be reported first.
  await agent.until('the copy fails', () => m.messages().includes(full(originsFile)), 60_000);
  assert.equal(await at.read(originsFile), edited);
  disks.free(apt);
  await agent.until('written again', () => m.messages().length === 0, hour);
  assert.equal(await at.read(`${originsFile}.save`), edited);

  // Another text of the agent does not fit: its present text is still its own, so restoring brings the user's back.
  disks.fill(apt);
  agent.receive(3, { system_configuration: { os_auto_upgrade_type: 'all' } });
  await agent.until('the second text fails', () => m.messages().includes(full(originsFile)));
  agent.receive(4, disabled);
  const start = at.clock.now();
  await agent.until('restoring is tried', () => at.clock.now() > start + hour, 60_000);
  assert.deepEqual(m.messages(), [full(originsFile)]);
  disks.free(apt);
  await agent.until('restored', () => agent.revision() === 4, hour);
  assert.deepEqual(await m.texts(), Object.values(before));
  assert.deepEqual(await left(), []);
});

test("a full disk of the agent's folder: the condition names the record, no file is changed", { skip }, async () => {
  await using m = await machineOn({ state: true });
  m.disks.fill(m.state);
  m.agent.receive(1, managed);
  await m.agent.until('both parts report it', () => m.messages().length === 2);
  const record = path.join(m.at.root, 'state/managed-files.json');
  for (const message of m.messages())
    assert.ok(message.includes(`${record} cannot be written: the disk is full.`), message);
  assert.deepEqual(await m.texts(), Object.values(before));
  m.disks.free(m.state);
  await m.agent.until('applied', () => m.agent.revision() === 1, hour);
  await m.agent.configure(2, disabled);
  assert.deepEqual(await m.texts(), Object.values(before));
});
