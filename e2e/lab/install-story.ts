// The one-line installation of the specification on a machine without an agent, step by step; for machines of any kind.
import assert from 'node:assert/strict';
import { systemClock } from '@platform/kit/node';
import { everything, isOnline, isOnlineSince, mainPid, oneLine, runningVersion } from './installed.ts';
import type { LabMachine } from './machine.ts';
import { keep, timed } from './results.ts';
import type { Site } from './site.ts';

export interface Installation {
  readonly site: Site;
  readonly machine: LabMachine;
  /** The machine in the app. */
  readonly partId: string;
  /** The kind of machine, in the results: container, arm64. */
  readonly where: string;
}

/** The stable channel has 0.1.0 of both programs. */
export async function installs({ site, machine, partId, where }: Installation): Promise<void> {
  const { seconds } = await timed(async () => {
    await machine.must(oneLine(site, partId), 900);
    await site.until(partId, 'online, server running', 900, isOnline);
  });
  assert.equal(
    await machine.must('systemctl is-enabled platform-agent; systemctl is-active platform-agent'),
    'enabled\nactive',
  );
  assert.equal(await runningVersion(machine, 'platform-agent'), '0.1.0');
  assert.equal(await machine.must('stat -c "%a %U" /etc/platform.json'), '600 root');
  await keep('install by one line, until agent and machine server are online', where, seconds);
}

export async function installsAgain({ site, machine, partId, where }: Installation): Promise<void> {
  const pids = [await mainPid(machine, 'platform-agent'), await mainPid(machine, 'platform-server')];
  const files =
    'cd / && find opt/platform/versions opt/platform/bin opt/platform/lib etc -printf "%p %i %T@ %l\\n" | sort';
  const tree = await machine.must(files);
  const { seconds } = await timed(() => machine.must(oneLine(site, partId), 900));
  assert.equal(await machine.must(files), tree);
  assert.deepEqual([await mainPid(machine, 'platform-agent'), await mainPid(machine, 'platform-server')], pids);
  await keep('the same line again changes nothing', where, seconds);
}

/** All processes end at once; a virtual machine also loses its power. */
export async function comesBack({ site, machine, partId, where }: Installation): Promise<void> {
  await machine.kill();
  const killed = systemClock.wall();
  const { seconds } = await timed(async () => {
    await machine.up();
    await site.until(partId, 'online again', 900, isOnlineSince(killed));
  });
  await keep('all processes killed, started again, until online', where, seconds);
}

/** @param before - `everything` of the machine before the installation */
export async function uninstalls({ site, machine, where }: Installation, before: string): Promise<void> {
  const removal = `${site.scriptCommand.replaceAll('/install.sh', '/uninstall.sh')} | sh`;
  const { seconds } = await timed(async () => {
    assert.match(await machine.must(removal, 900), /notified the management server/);
  });
  assert.equal(await mainPid(machine, 'platform-agent'), 0);
  assert.equal((await machine.exec('pgrep -f /opt/[p]latform')).stdout, '');
  assert.deepEqual(diff(before, await everything(machine)), []);
  assert.match(await machine.must('systemctl show -P LoadState platform-agent'), /not-found/);
  await keep('uninstall: nothing is left', where, seconds, 'paths, modes and settings as before the install');
}

/** Returns the lines that only one of the two contains. */
function diff(before: string, after: string): string[] {
  const [was, is] = [new Set(before.split('\n')), new Set(after.split('\n'))];
  return [
    ...[...was].filter((line) => !is.has(line)).map((line) => `- ${line}`),
    ...[...is].filter((line) => !was.has(line)).map((line) => `+ ${line}`),
  ];
}
