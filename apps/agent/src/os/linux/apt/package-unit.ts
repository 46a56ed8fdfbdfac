import { mkdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import type { PackageTask, PackageTasks } from '../../package-tasks.ts';
import type { Programs } from '../../ports.ts';

const packageUnit = 'platform-packages.service';
const title = 'Platform packages: ';
const mostLines = 20;
const mostLetters = 300;

/**
 * Runs package managers as a transient unit of systemd. The unit of the agent protects the file system, which breaks
 * maintainer scripts, and a stop of the agent must not end dpkg.
 *
 * @param outputFile - absolute path
 */
export function packageUnitTasks(programs: Programs, outputFile: string): PackageTasks {
  const systemctl = (...args: string[]) => programs.run('systemctl', ...args);
  const clear = async (): Promise<void> => {
    await systemctl('stop', packageUnit);
    await systemctl('reset-failed', packageUnit);
  };
  return {
    async start(name, script) {
      await clear();
      await mkdir(path.dirname(outputFile), { recursive: true });
      await rm(outputFile, { force: true });
      const properties = {
        Description: `${title}${name}`,
        // As in apt-daily-upgrade.service: a stop waits for dpkg.
        KillMode: 'process',
        TimeoutStopSec: '900',
        RemainAfterExit: 'yes',
        StandardOutput: `append:${outputFile}`,
        StandardError: `append:${outputFile}`,
        Nice: '10',
      };
      const { code, text } = await programs.run(
        'systemd-run',
        '--quiet',
        `--unit=${packageUnit}`,
        '--service-type=exec',
        ...Object.entries(properties).flatMap(([key, value]) => ['-p', `${key}=${value}`]),
        '--',
        '/bin/sh',
        '-c',
        script.replaceAll('$', '$$$$'),
      );
      if (code !== 0) throw new Error(`the package manager could not be started: ${text.slice(-300)}`);
    },
    look: async () => taskOf((await systemctl('show', packageUnit, '-p', shown)).text),
    async lastLines() {
      const text = await readFile(outputFile, 'utf8').catch(() => '');
      const lines = text.split('\n').map((line) => line.split('\r').at(-1)?.trimEnd() ?? '');
      return lines
        .filter((line) => line !== '')
        .slice(-mostLines)
        .map((line) => line.slice(0, mostLetters));
    },
    clear,
  };
}

const shown = 'LoadState,ActiveState,SubState,ExecMainStatus,Description';

/** Parses `systemctl show` of these properties. */
export function taskOf(text: string): PackageTask {
  const value = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(text)?.[1] ?? '';
  const [active, sub] = [value('ActiveState'), value('SubState')];
  if (value('LoadState') !== 'loaded' || !value('Description').startsWith(title)) return { is: 'none' };
  const name = value('Description').slice(title.length);
  if (active === 'inactive') return { is: 'none' };
  if (active === 'failed' || sub === 'exited')
    return { is: 'ended', name, code: Number(value('ExecMainStatus')) || (active === 'failed' ? 1 : 0) };
  return { is: 'running', name };
}
