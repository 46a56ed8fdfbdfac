import { PlatformError } from '@platform/contract/errors/errors';
import { clearCondition, setCondition } from '../health/condition-set.ts';
import { lockHolder } from './package-locks.ts';
import type { SystemParts } from './system-parts.ts';
import { readFile } from 'node:fs/promises';

const lookMs = 5_000;
const waiting = 'OS_PACKAGES_WAIT';

/**
 * Runs a task of the package manager and waits for its end; one that an earlier agent started is awaited first. After
 * the signal the task continues without this agent.
 *
 * @throws PlatformError with the last lines if it fails
 */
export const runPackages = (name: PackageScript, parts: SystemParts, signal: AbortSignal): Promise<void> =>
  parts.inTurn(async () => {
    try {
      await runTask(name, parts, signal);
    } finally {
      parts.task.set('');
    }
  });

async function runTask(name: PackageScript, parts: SystemParts, signal: AbortSignal): Promise<void> {
  const { packages, log } = parts;
  const before = await packages.look();
  if (before.is === 'none' || before.name !== name) {
    await untilEnded(parts, signal);
    await untilUnlocked(parts, signal);
    if (signal.aborted) return;
    const interrupted = await interruptedPackages(parts.prefix);
    if (interrupted.length > 0)
      log.warn('dpkg was interrupted and is repaired first', { packages: interrupted.join(' ') });
    log.info('a package manager is started', { task: name });
    await packages.start(name, packageScripts[name]);
  }
  parts.task.set(name);
  const task = await untilEnded(parts, signal);
  if (signal.aborted) return;
  const lines = await packages.lastLines();
  await packages.clear();
  const code = task.is === 'ended' ? task.code : -1;
  log.info('a package manager has ended', { task: name, code });
  if (code === 0) return;
  const problem = failureLines(lines).join(' | ') || `exit ${code}`;
  throw new PlatformError('OS_PACKAGES_FAILED', { task: name, problem });
}

async function untilEnded({ packages, clock }: SystemParts, signal: AbortSignal) {
  for (;;) {
    const task = await packages.look();
    if (task.is !== 'running' || signal.aborted) return task;
    await clock.sleep(lookMs, signal);
  }
}

/** Waits while another program holds a lock of the package manager, and shows which. */
async function untilUnlocked({ prefix, conditions, clock }: SystemParts, signal: AbortSignal): Promise<void> {
  const sinceWall = clock.wall();
  try {
    for (let holder = await lockHolder(prefix); holder && !signal.aborted; holder = await lockHolder(prefix)) {
      setCondition(conditions, waiting, { program: holder.program, pid: holder.pid }, { sinceWall });
      await clock.sleep(lookMs, signal);
    }
  } finally {
    clearCondition(conditions, waiting);
  }
}

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
const interruptedPackages = async (prefix: string): Promise<string[]> =>
  unfinishedPackages(await readFile(`${prefix}/var/lib/dpkg/status`, 'utf8').catch(() => ''));

const shownLines = 5;
/** How apt, dpkg and unattended-upgrade begin a line with a cause. apt explains some of them at length, such as with all hashes of a file. */
const cause =
  /^(E:|Err:|dpkg: error|W: (Failed to fetch|GPG error|An error occurred during the signature)|Waiting for cache lock:|error message: |Lock could not be acquired|Cache has broken packages)/;

/** What to show of the output of a package manager that failed: the last lines with a cause; without one, the last lines. */
export function failureLines(lines: readonly string[]): string[] {
  const causes = lines.flatMap((line, at) => {
    // dpkg names the package, and says why on the next line.
    if (/^dpkg: error .*:$/.test(lines[at - 1] ?? '')) return [line];
    if (!cause.test(line)) return [];
    const next = lines[at + 1] ?? '';
    return line.startsWith('Err:') && next.startsWith('  ') ? [`${line}: ${next.trim()}`] : [line];
  });
  // apt repeats that it waits for a lock.
  const shown = causes.length > 0 ? [...new Set(causes)] : lines;
  return shown.slice(-shownLines);
}

// What runs in the unit of the package manager: POSIX shell.

/** A prompt would wait for ever, and needrestart must not restart the agent. The owner's files of packages stay. */
const prelude = `export DEBIAN_FRONTEND=noninteractive UCF_FORCE_CONFFOLD=1 APT_LISTCHANGES_FRONTEND=none NEEDRESTART_MODE=l LC_ALL=C
apt() { apt-get -q -y -o DPkg::Lock::Timeout=600 -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold "$@"; }
`;

/** Does nothing after a dpkg that ended in order. */
const repair =
  'dpkg --force-confdef --force-confold --configure -a && { apt-get -q check >/dev/null || apt -f install; }';
const update = 'apt -o APT::Update::Error-Mode=any update';

const packageScripts = {
  'update the package lists': `${prelude}${repair} && ${update}`,
  'install unattended-upgrades': `${prelude}${repair} && apt install --no-install-recommends unattended-upgrades`,
  // An update of the lists that fails in part must not prevent the upgrades of the other repositories.
  'upgrade the packages': `${prelude}${repair} || exit; failed=0; ${update} || failed=$?
apt --with-new-pkgs upgrade && exit $failed`,
  'run unattended-upgrade': `${prelude}${repair} || exit; failed=0; ${update} || failed=$?
unattended-upgrade -v && exit $failed`,
} as const;
type PackageScript = keyof typeof packageScripts;
