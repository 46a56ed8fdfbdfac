// Limits of journald: what is written, when journald is restarted, and how everything is as it was before.
import assert from 'node:assert/strict';
import { mkdir, symlink } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { Cell } from '@platform/kit';
import { resolveAgentConfig } from '@platform/contract/config/agent-config';
import { removeAll } from '../src/install/remove.ts';
import { settingsOf } from '../src/state/settings.ts';
import type { SystemSettings } from '../src/state/state.ts';
import { applyJournald, journaldFile, journaldText } from '../src/system/journald.ts';
import { keepSettings, type SystemApplied } from '../src/system/keep.ts';
import { planFiles, type FileSeen } from '../src/system/system-plan.ts';
import type { SystemGoal } from '../src/system/system-goal.ts';
import { systemGoal, systemMachine } from './system-machine.ts';

const lines = (settings: SystemSettings | undefined): string[] | undefined =>
  journaldText(settings)?.split('\n').slice(1, -1);
const settings = (agent: unknown): SystemSettings | undefined => {
  const { config, hasSystem } = resolveAgentConfig({ cloud: agent });
  return settingsOf(config, { isFastStart: false, hasSystem }).system;
};

const limits: [name: string, agent: unknown, written: string[] | undefined][] = [
  ['no key', {}, undefined],
  ['null', { system_configuration: null }, undefined],
  ['no object', { system_configuration: 'no' }, undefined],
  ['no field', { system_configuration: {} }, ['[Journal]', 'SystemMaxUse=512M', 'RuntimeMaxUse=512M']],
  [
    'one limit, the other is the default',
    { system_configuration: { logging_journald_system_max_use_megabytes: 64 } },
    ['[Journal]', 'SystemMaxUse=64M', 'RuntimeMaxUse=512M'],
  ],
  [
    'one limit left to the system',
    { system_configuration: { logging_journald_runtime_max_use_megabytes: -1 } },
    ['[Journal]', 'SystemMaxUse=512M'],
  ],
  [
    'both left to the system',
    {
      system_configuration: {
        logging_journald_runtime_max_use_megabytes: -1,
        logging_journald_system_max_use_megabytes: -1,
      },
    },
    undefined,
  ],
  [
    'a limit of the wrong type does not discard the other',
    {
      system_configuration: {
        logging_journald_runtime_max_use_megabytes: 'much',
        logging_journald_system_max_use_megabytes: 7,
      },
    },
    ['[Journal]', 'SystemMaxUse=7M', 'RuntimeMaxUse=512M'],
  ],
];
for (const [name, agent, written] of limits)
  test(`limits of journald: ${name}`, () => assert.deepEqual(lines(settings(agent)), written));

const file = '/etc/x';
const seen = (text: string | undefined, isManaged: boolean): FileSeen[] => [{ file, text, isManaged }];
const plans: [name: string, goal: string | undefined, seen: FileSeen[], steps: string[]][] = [
  ['nothing desired, nothing there', undefined, seen(undefined, false), []],
  ['nothing desired, the owner has a file', undefined, seen('theirs', false), []],
  ['nothing desired any more', undefined, seen('ours', true), ['restore']],
  ['nothing desired, and our file was removed', undefined, seen(undefined, true), ['restore']],
  ['desired and missing', 'ours', seen(undefined, false), ['write']],
  ['desired, the owner has another', 'ours', seen('theirs', false), ['write']],
  ['in place', 'ours', seen('ours', true), []],
  ['changed since', 'ours', seen('edited', true), ['write']],
];
for (const [name, goal, now, steps] of plans)
  test(`plan of a file: ${name}`, () =>
    assert.deepEqual(
      planFiles([{ file, text: goal }], now).map((step) => step.do),
      steps,
    ));

const restart = 'systemctl restart systemd-journald.service';

test('journald is restarted once for each change of its limits, also by a later agent', async () => {
  await using at = await systemMachine();
  const restarts = () => at.ran.filter((command) => command === restart).length;
  for (const [system, count] of [
    [systemGoal({ systemMaxMegabytes: 64 }), 1],
    [systemGoal({ systemMaxMegabytes: 64 }), 1],
    [systemGoal({ systemMaxMegabytes: 65 }), 2],
    [systemGoal(undefined, true), 2], // the configuration is not known yet
    [systemGoal({ runtimeMaxMegabytes: -1, systemMaxMegabytes: -1 }), 3],
    [systemGoal(undefined), 3],
  ] as const) {
    await applyJournald(system, at.parts());
    assert.equal(restarts(), count);
  }
  assert.equal(await at.read(journaldFile), undefined);
});

test('a drop-in that a user removed or changed is written again and loaded', async () => {
  await using at = await systemMachine();
  await applyJournald(systemGoal({}), at.parts());
  await at.remove(journaldFile);
  await applyJournald(systemGoal({}), at.parts());
  assert.match((await at.read(journaldFile)) ?? '', /SystemMaxUse=512M/);
  assert.equal(at.ran.filter((command) => command === restart).length, 2);
});

test('a restart that failed is made up for', async () => {
  let isBroken = true;
  await using at = await systemMachine((command) =>
    command === restart && isBroken ? { code: 1, text: 'Job failed' } : { code: 0, text: 'loaded' },
  );
  await assert.rejects(applyJournald(systemGoal({}), at.parts()), /could not be restarted: Job failed/);
  isBroken = false;
  await applyJournald(systemGoal({}), at.parts());
  assert.equal(at.ran.filter((command) => command === restart).length, 2);
});

test("the owner's file of the same name comes back", async () => {
  await using at = await systemMachine();
  await at.put(journaldFile, '[Journal]\nSystemMaxUse=1G\n');
  await applyJournald(systemGoal({}), at.parts());
  await applyJournald(systemGoal(undefined), at.parts());
  assert.equal(await at.read(journaldFile), '[Journal]\nSystemMaxUse=1G\n');
});

test('uninstalling removes the limits and has journald load its own', async () => {
  await using at = await systemMachine();
  const parts = { ...at.parts(), prefix: '' };
  const written = path.join(at.prefix, journaldFile);
  await parts.managedFiles.write(written, 'ours');
  const removal = { root: at.root, credentialsFile: undefined, usesSystemd: true, sayGoodbye: async () => false };
  const { done } = await removeAll({ ...removal, prefix: at.prefix }, parts.programs);
  assert.ok(done.includes(`restored ${written}`));
  assert.ok(at.ran.includes('systemctl restart systemd-journald'));
  assert.equal(await at.read(journaldFile), undefined);
});

test('an /etc that cannot be written is one condition, retried with growing delay, and ends with its cause', async () => {
  await using at = await systemMachine();
  await mkdir(path.join(at.prefix, 'etc'), { recursive: true });
  await symlink('/proc/version', path.join(at.prefix, 'etc/systemd')); // not even root creates folders below it
  const applied = new Cell<SystemApplied>({ revision: 0, configSha256: '', failure: undefined });
  const goal = new Cell<SystemGoal>(systemGoal({}));
  const attempts: number[] = [];
  const stop = new AbortController();
  const parts = at.parts();
  let last = Promise.resolve();
  const apply = (next: SystemGoal): Promise<void> => {
    attempts.push(at.clock.now());
    return (last = applyJournald(next, parts));
  };
  const pass = async (ms: number): Promise<void> => {
    await at.clock.advance(ms);
    await last.catch(() => {});
    await at.clock.advance(0);
  };
  const running = keepSettings({ name: 'journald', goal, applied, apply }, parts, stop.signal);
  await pass(0);
  for (const ms of [10_000, 20_000, 40_000]) await pass(ms);
  assert.deepEqual(attempts, [0, 10_000, 30_000, 70_000]);
  assert.deepEqual(
    at.conditions.get().map(({ code, subject }) => [code, subject]),
    [['SYSTEM_NOT_APPLIED', 'journald']],
  );
  assert.match(at.conditions.get()[0]?.message ?? '', /journald\.conf\.d\/90-platform\.conf cannot be written: /);
  assert.equal(applied.get().failure?.code, 'SYSTEM_NOT_APPLIED');
  goal.set({ ...systemGoal(undefined), revision: 2 });
  await pass(0);
  assert.deepEqual(at.conditions.get(), []);
  assert.deepEqual(applied.get(), { revision: 2, configSha256: '', failure: undefined });
  stop.abort();
  await running;
});
