// What the agent reports about the packages of its machine, upgrades on request, and reboots for upgrades.
import assert from 'node:assert/strict';
import { utimes } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { resolveAgentConfig } from '@platform/contract/config/agent-config';
import { Cell } from '@platform/kit';
import type { RestartDecision } from '../src/state/may-restart.ts';
import { settingsOf } from '../src/state/settings.ts';
import type { Wanted } from '../src/state/state.ts';
import { wantedBefore } from '../src/config/config-receiver.ts';
import { readLastRun, readWaiting } from '../src/system/apt-status.ts';
import { rebootForUpgrades } from '../src/system/reboot.ts';
import type { SystemStatus } from '../src/system/system-status.ts';
import { upgradeOnRequest } from '../src/system/upgrade-now.ts';
import { watchUpgrades } from '../src/system/watch-upgrades.ts';
import { systemMachine } from './system-machine.ts';

/** As apt 2.6 of Debian 12 and apt of Ubuntu print it. */
const simulated = `Reading package lists...
Inst base-files [12.4+deb12u11] (12.4+deb12u15 Debian:12.15/oldstable [amd64])
Inst curl [7.88.1-10] (7.88.1-11 Debian-Security:12/oldstable-security, Debian:12.15/oldstable [amd64]) []
Inst linux-image-6.1 (6.1.150-1 Ubuntu:22.04/jammy-security [amd64])
Inst lab-sec [1.0] (2.0 Debian-Security:oldstable-security [all])
Conf base-files (12.4+deb12u15 Debian:12.15/oldstable [amd64])
`;
test('upgrades that wait, those for security first', () => {
  assert.deepEqual(
    readWaiting(simulated).map(({ name, from, to, isSecurity }) => [name, from, to, isSecurity]),
    [
      ['curl', '7.88.1-10', '7.88.1-11', true],
      ['linux-image-6.1', '', '6.1.150-1', true],
      ['lab-sec', '1.0', '2.0', true],
      ['base-files', '12.4+deb12u11', '12.4+deb12u15', false],
    ],
  );
});

const history = `
Start-Date: 2026-11-23  05:48:37
Commandline: /usr/bin/unattended-upgrade
Install: zsh:amd64 (5.9-4+b15, automatic)
Upgrade: libpcre2-8-0:amd64 (10.42-1, 10.42-1+deb12u2), libnss3:amd64 (2:3.87.1-1+deb12u2, 2:3.87.1-1+deb12u4)
Error: Sub-process /usr/bin/dpkg returned an error code (1)
End-Date: 2026-11-23  05:49:11

Start-Date: 2026-11-23  10:23:45
Commandline: apt-get install fish
Install: fish:amd64 (3.6.0-3.1+deb12u1)
End-Date: 2026-11-23  10:23:59
`;
test('the last run that upgraded packages', () => {
  const run = readLastRun(history);
  assert.deepEqual(
    run?.packages.map(({ name, from, to }) => [name, from, to]),
    [
      ['libpcre2-8-0', '10.42-1', '10.42-1+deb12u2'],
      ['libnss3', '2:3.87.1-1+deb12u2', '2:3.87.1-1+deb12u4'],
    ],
  );
  assert.equal(run?.startedWall, new Date('2026-11-23T05:48:37').getTime());
  assert.equal(run?.endedWall, new Date('2026-11-23T05:49:11').getTime());
  assert.match(run?.problem ?? '', /dpkg returned an error/);
  assert.equal(readLastRun(''), undefined);
});

test('the steps of one unattended-upgrade are one run; a later one is another', () => {
  const step = (time: string, name: string): string =>
    `Start-Date: 2026-11-24  ${time}:00\nCommandline: /usr/bin/unattended-upgrade\nUpgrade: ${name}:all (1.0, 2.0)\nEnd-Date: 2026-11-24  ${time}:09\n`;
  const names = (...steps: string[]) => readLastRun(steps.join('\n'))?.packages.map(({ name }) => name);
  assert.deepEqual(names(step('06:00', 'a'), step('06:01', 'b'), step('06:09', 'c')), ['a', 'b', 'c']);
  assert.deepEqual(names(step('06:00', 'a'), step('18:00', 'b')), ['b']);
});

/** Lets calls of real files end between the turns of the simulated clock. */
async function until(isSo: () => boolean, pass: () => Promise<void>): Promise<void> {
  while (!isSo()) {
    await pass();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test('the status is read anew when a file of apt has changed; the first time of a reboot need stays', async () => {
  let text = simulated;
  await using at = await systemMachine((command) =>
    command.startsWith('apt-get') ? { code: 0, text } : { code: 0, text: '' },
  );
  await at.put('/var/lib/dpkg/status', 'one');
  const status = new Cell<SystemStatus | undefined>(undefined);
  const stop = new AbortController();
  const watching = watchUpgrades(status, at.parts(), stop.signal);
  const pass = () => at.clock.advance(60_000);
  await until(() => status.get() !== undefined, pass);
  assert.equal(status.get()?.waiting.length, 4);
  assert.equal(status.get()?.reboot, undefined);
  text = '';
  const set = async (file: string, seconds: number): Promise<void> => {
    await at.put(file, 'libc6\nlibc6\n');
    await utimes(path.join(at.prefix, file), seconds, seconds);
  };
  await set('/run/reboot-required.pkgs', 1_000);
  await set('/run/reboot-required', 1_000);
  await until(() => status.get()?.reboot !== undefined && status.get()?.waiting.length === 0, pass);
  assert.deepEqual(status.get()?.reboot, { sinceWall: 1_000_000, causes: ['libc6'] });
  await set('/run/reboot-required', 2_000);
  await at.put('/var/log/apt/history.log', history);
  await until(() => status.get()?.lastRun !== undefined, pass);
  assert.equal(status.get()?.reboot?.sinceWall, 1_000_000);
  at.task.set('upgrade the packages');
  await until(() => status.get()?.task !== '', pass);
  stop.abort();
  await watching;
});

const wantedWith = (systemUpgrades: number, agent: object = {}, window?: object): Wanted => {
  const { config, hasSystem } = resolveAgentConfig({ cloud: agent, maintenanceWindow: window });
  const before = wantedBefore({ commandLine: undefined, manufacturer: undefined, isFastStart: true });
  return {
    ...before,
    revision: 1,
    isFresh: true,
    systemUpgrades,
    settings: settingsOf(config, { isFastStart: true, hasSystem }),
  };
};
const upgrading = { system_configuration: { os_auto_upgrade_type: 'security' } };

test('each request upgrades once, by the tool that the configuration selects; requests before this agent do not count', async () => {
  await using at = await systemMachine();
  const parts = at.parts();
  const run = async (wanted: Wanted): Promise<void> => {
    const cell = new Cell(wanted);
    const stop = new AbortController();
    const running = upgradeOnRequest(cell, parts, stop.signal);
    await until(
      () => false,
      async () => {
        await at.clock.advance(5_000);
        const stored = await parts.disk.read('state/system-upgrades.json');
        if (stored && new TextDecoder().decode(stored).includes(`"done":${wanted.systemUpgrades}}`))
          throw new Error('done');
      },
    ).catch(() => {});
    stop.abort();
    await running;
  };
  await run(wantedWith(3));
  assert.deepEqual(at.packages.started, []);
  await run(wantedWith(4));
  await run(wantedWith(4));
  assert.deepEqual(at.packages.started, ['upgrade the packages']);
  at.packages.next = async () => ({ code: 100, lines: ['E: Unable to fetch some archives'] });
  await run(wantedWith(5, upgrading));
  assert.deepEqual(at.packages.started, ['upgrade the packages', 'run unattended-upgrade']);
  assert.match(at.conditions.get()[0]?.message ?? '', /failed to run unattended-upgrade: E: Unable to fetch/);
  at.packages.next = async () => ({ code: 0 });
  await run(wantedWith(6, upgrading));
  assert.deepEqual(at.conditions.get(), []);
  await run(wantedWith(2, upgrading)); // the server was restored from a backup
  await run(wantedWith(3, upgrading));
  assert.equal(at.packages.started.length, 4);
});

test('an upgrade whose request cannot be stored is not repeated; the condition goes when it is stored', async () => {
  await using at = await systemMachine();
  const parts = at.parts();
  const wanted = new Cell(wantedWith(1));
  const stop = new AbortController();
  const running = upgradeOnRequest(wanted, parts, stop.signal);
  const pass = () => at.clock.advance(60_000);
  const stored = async (): Promise<string> =>
    new TextDecoder().decode((await parts.disk.read('state/system-upgrades.json')) ?? new Uint8Array());
  while (!/"done":1}/.test(await stored())) await pass();
  at.faults.isFull = true;
  wanted.set(wantedWith(2));
  await until(() => at.conditions.get().length > 0, pass);
  for (let minute = 0; minute < 60; minute++) await pass();
  assert.deepEqual(at.packages.started, ['upgrade the packages']);
  assert.deepEqual(
    at.conditions.get().map(({ code, subject }) => [code, subject]),
    [['SYSTEM_NOT_APPLIED', 'upgrade requests']],
  );
  assert.match(
    at.conditions.get()[0]?.message ?? '',
    /state\/system-upgrades\.json cannot be written: .*no space left/,
  );
  at.faults.isFull = false;
  await until(() => at.conditions.get().length === 0, pass);
  assert.match(await stored(), /"done":2}/);
  assert.equal(at.packages.started.length, 1);
  stop.abort();
  await running;
});

const night = { from: '01:00', to: '02:00' };
const allowed: RestartDecision = { is: 'allowed', reason: '', untilWall: undefined };
const denied: RestartDecision = { is: 'denied', reason: 'it waits for the window Sat 22:00 UTC', untilWall: undefined };
const reboots: [name: string, wanted: Wanted, decision: RestartDecision, task: string, wait: RegExp][] = [
  ['no window', wantedWith(0, upgrading), allowed, '', /no maintenance window is configured/],
  ['window closed', wantedWith(0, upgrading, night), denied, '', /waits for the window Sat 22:00/],
  ['no upgrades asked for', wantedWith(0, {}, night), allowed, '', /does not ask for upgrades/],
  [
    'disabled',
    wantedWith(0, { ...upgrading, advanced_settings: { disable_system_configuration: true } }, night),
    allowed,
    '',
    /does not ask for upgrades/,
  ],
  ['a package manager runs', wantedWith(0, upgrading, night), allowed, 'upgrade the packages', /package manager runs/],
  ['window open', wantedWith(0, upgrading, night), allowed, '', /^$/],
];
for (const [name, wanted, decision, task, wait] of reboots)
  test(`reboot for upgrades: ${name}`, async () => {
    await using at = await systemMachine();
    const { conditions, disk, clock, log, prefix } = at.parts();
    const status = new Cell<SystemStatus | undefined>({
      hasApt: true,
      waiting: [],
      lastRun: undefined,
      reboot: { sinceWall: 5, causes: ['libc6'] },
      rebootWait: 'not known yet',
      task,
      why: '',
    });
    let count = 0;
    const reboot = async (): Promise<void> => void count++;
    const stop = new AbortController();
    const parts = { status, wanted: new Cell(wanted), decide: () => decision, conditions, disk, clock, log, prefix };
    const running = rebootForUpgrades({ ...parts, reboot }, stop.signal);
    const pass = () => at.clock.advance(60_000);
    await until(() => status.get()?.rebootWait !== 'not known yet', pass);
    await until(() => count > 0 || conditions.get().length > 0, pass);
    assert.equal(count, wait.test('') ? 1 : 0);
    if (count === 0) {
      assert.match(status.get()?.rebootWait ?? '', wait);
      assert.match(conditions.get()[0]?.message ?? '', /needs a reboot because of libc6: /);
      assert.equal(conditions.get()[0]?.sinceWall, 5);
    } else {
      // A program that wants a reboot after each start.
      await until(() => /less than 20 hours ago/.test(status.get()?.rebootWait ?? ''), pass);
      assert.equal(count, 1);
    }
    status.update((now) => now && { ...now, reboot: undefined });
    await until(() => conditions.get().length === 0, pass);
    stop.abort();
    await running;
  });
