import { readFile } from 'node:fs/promises';

const unfinished = new Set(['half-installed', 'unpacked', 'half-configured', 'triggers-awaited', 'triggers-pending']);

/** Names of the packages that an interrupted dpkg left unfinished, by the text of its status file. Pure. */
export function unfinishedPackages(status: string): string[] {
  return status.split('\n\n').flatMap((entry) => {
    const name = /^Package: (\S+)$/m.exec(entry)?.[1];
    const state = /^Status: \S+ \S+ (\S+)$/m.exec(entry)?.[1];
    return name !== undefined && state !== undefined && unfinished.has(state) ? [name] : [];
  });
}

/** The same of a system; empty: dpkg ended in order, or there is none. Call it while no package manager runs. */
export const interruptedPackages = async (prefix: string): Promise<string[]> =>
  unfinishedPackages(await readFile(`${prefix}/var/lib/dpkg/status`, 'utf8').catch(() => ''));
