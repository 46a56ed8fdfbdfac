// A machine without systemd and without credentials: this host in namespaces of its own, where /opt, /etc and /run are
// private, and one name leads to the server of the test.
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { type ProcessGroup, spawnGroup } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';

export interface BareMachine extends AsyncDisposable {
  /** Pastes a line into a shell of its root; what it starts runs until the machine is disposed. */
  paste(line: string): Promise<ProcessGroup>;
  /** All output so far. */
  output(): Promise<string>;
}

/** @param host - resolves to this host. */
export async function bareMachine(host: string): Promise<BareMachine> {
  const folder = await tempFolder();
  const log = folder.file('output');
  await writeFile(log, '');
  await promisify(execFile)('cp', ['-a', '/etc', folder.file('etc')]);
  await writeFile(folder.file('etc', 'hosts'), `127.0.0.1 localhost ${host}\n`);
  await promisify(execFile)('mkdir', [folder.file('opt')]);
  const mounts = [
    'mount -t tmpfs t /run',
    `mount --bind ${folder.file('etc')} /etc`,
    `mount --bind ${folder.file('opt')} /opt`,
  ];
  const namespaces = process.getuid?.() === 0 ? ['-m'] : ['-Urm'];
  const groups: ProcessGroup[] = [];
  return {
    async paste(line) {
      const group = await spawnGroup({
        command: 'unshare',
        args: [...namespaces, '/bin/sh', '-c', `${mounts.join(' && ')} && exec /bin/sh -c "$LINE"`],
        env: { PATH: '/usr/bin:/bin:/usr/sbin:/sbin', HOME: folder.path, LINE: line },
        logFile: log,
      });
      groups.push(group);
      return group;
    },
    output: () => readFile(log, 'utf8'),
    async [Symbol.asyncDispose]() {
      for (const group of groups) await group.stop({ termMs: 60_000 });
      await folder[Symbol.asyncDispose]();
    },
  };
}
