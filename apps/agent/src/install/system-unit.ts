import { execFile } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { System } from '../os/ports.ts';
import { agentUnit, checkedUnit, unitText } from './unit.ts';
import { programPath } from '../versions/layout.ts';
import type { UnitPlace } from '../versions/unit-renewal.ts';

const adminUnits = '/etc/systemd/system';
const runUnits = '/run/systemd/system';
const checkUnit = 'platform-agent-check.service';
const answerMs = 30_000;

/** The unit by which systemd started this agent; undefined: there is none, or it is not ours to change. */
export async function systemUnit(
  { root, credentialsFile }: { root: string; credentialsFile: string },
  system: System,
): Promise<UnitPlace | undefined> {
  const { text: file } = await system.run('systemctl', 'show', '-P', 'FragmentPath', agentUnit);
  if (path.dirname(file) !== adminUnits) return undefined; // a package of the distribution maintains its own unit
  const own = unitText({ root, credentialsFile });
  return {
    files: system.files(adminUnits),
    path: path.basename(file),
    gatePath: file,
    own,
    async textOf(id) {
      const program = path.join(root, programPath('agent', id));
      const text = await outputOf(program, ['unit', '--root', root, '--config', credentialsFile]);
      return text?.startsWith('[Unit]\n') ? text : undefined;
    },
    refusal: (text) => refusalOf(text, root, system),
    async reload() {
      const { text } = await system.run('systemctl', 'show', '-P', 'NeedDaemonReload', agentUnit);
      if (text !== 'yes') return;
      const reload = await system.run('systemctl', 'daemon-reload');
      if (reload.code !== 0) throw new Error(reload.text);
    },
  };
}

/**
 * Tests whether systemd can load the unit, then starts this program once with all its settings. Returns the error;
 * undefined: it works.
 */
async function refusalOf(text: string, root: string, system: System): Promise<string | undefined> {
  const file = path.join(runUnits, checkUnit);
  const show = async (names: string) => (await system.run('systemctl', 'show', '-p', names, checkUnit)).text;
  try {
    await writeFile(file, text);
    await system.run('systemctl', 'daemon-reload');
    const loaded = await show('LoadState,LoadError');
    if (!/^LoadState=loaded$/m.test(loaded)) return loaded.replaceAll('\n', ', ');
    const check = checkedUnit(text, root);
    if (check === undefined) return 'it has no section [Service]';
    await writeFile(file, check);
    await system.run('systemctl', 'daemon-reload');
    const started = await system.run('systemctl', 'start', checkUnit);
    if (started.code === 0) return undefined;
    return `${started.text.split('\n')[0]} (${(await show('Result,ExecMainStatus')).replaceAll('\n', ', ')})`;
  } finally {
    await rm(file, { force: true });
    await system.run('systemctl', 'reset-failed', checkUnit);
    await system.run('systemctl', 'daemon-reload');
  }
}

/** Output of a program of any version; undefined: it failed, for example because it lacks the command. */
const outputOf = (program: string, args: readonly string[]): Promise<string | undefined> =>
  new Promise((resolve) => {
    execFile(program, args, { timeout: answerMs }, (error, stdout) => resolve(error ? undefined : stdout));
  });
