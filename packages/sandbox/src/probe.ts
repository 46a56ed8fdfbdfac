/** Checks that sandboxes work here, and with which limiter; a script never runs without a sandbox. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { within, type Clock } from '@platform/kit';
import type { HostLayout } from './bwrap-plan.ts';
import { possibleLimiters } from './resource-limiters.ts';
import { findProgram, layoutOf } from './host.ts';
import { runSandboxed, type Sandboxes } from './sandbox.ts';

export type Probe =
  | { readonly ok: true; readonly sandboxes: Sandboxes }
  /** `because` states what is missing and what to do. */
  | { readonly ok: false; readonly because: string };

const probeMs = 20_000;
/** Lower UIDs belong to users, to programs and to systemd's containers. */
const firstUid = 1_900_000_000;
const manyUids = 100_000_000;

/** A UID per name if root creates the sandbox; otherwise UID 65534, which owns no files. */
export function uidFor(host: Pick<HostLayout, 'isRoot'>, name: string): number {
  if (!host.isRoot) return 65_534;
  let hash = 0;
  for (const char of name) hash = (hash * 31 + (char.codePointAt(0) ?? 0)) % manyUids;
  return firstUid + hash;
}

/** Runs `true` in a sandbox with all limits. @param searchPath - where bubblewrap may be, as in PATH. */
export async function openSandboxes(searchPath: string, clock: Clock, signal: AbortSignal): Promise<Probe> {
  const host = await layoutOf(searchPath);
  if (typeof host === 'string') return { ok: false, because: refusal(host) };
  const systemdRun = await findProgram('systemd-run', searchPath);
  const problems: string[] = [];
  for (const limiter of await possibleLimiters(systemdRun, host.isRoot)) {
    const sandboxes = { host, limiter };
    const problem = await tried(sandboxes, clock, signal);
    if (problem === undefined) return { ok: true, sandboxes };
    problems.push(problem);
  }
  return { ok: false, because: refusal(`bubblewrap failed: ${problems.at(-1)}`) };
}

async function tried(sandboxes: Sandboxes, clock: Clock, signal: AbortSignal): Promise<string | undefined> {
  const folder = await mkdtemp(path.join(tmpdir(), 'platform-sandbox-'));
  try {
    const name = path.basename(folder).replace(/[^A-Za-z0-9-]/g, '-');
    const task = {
      name,
      folder,
      mounts: [],
      env: { PATH: '/usr/bin:/bin' },
      cwd: '/tmp',
      command: ['/usr/bin/true'],
      uid: uidFor(sandboxes.host, name),
      network: false,
      gpus: [],
      limits: { memoryBytes: 256 * 2 ** 20, processes: 64, cpus: 1, diskBytes: 16 * 2 ** 20 },
      watched: [],
      graceMs: 0,
      clock,
      onLine: () => {},
    };
    const { end, lastLines } = await within(probeMs, { what: 'the sandbox', clock, signal }, (inner) =>
      runSandboxed(sandboxes, task, inner),
    );
    if (end.is === 'exited' && end.code === 0) return undefined;
    return lastLines.at(-1) ?? (end.is === 'broken' ? end.problem : `true ended with ${JSON.stringify(end)}`);
  } catch (error) {
    if (signal.aborted) throw error;
    return error instanceof Error ? error.message : String(error);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Why scripts cannot run here, and the remedy. */
export function refusal(problem: string): string {
  const remedy = /not installed/.test(problem)
    ? 'Install it (Debian: apt-get install bubblewrap); a running runner finds it within a minute.'
    : /namespace|uid map|Operation not permitted|Permission denied/i.test(problem)
      ? 'Allow user namespaces (sysctl kernel.unprivileged_userns_clone=1 and user.max_user_namespaces > 0; on Ubuntu an ' +
        'AppArmor profile for bwrap or kernel.apparmor_restrict_unprivileged_userns=0; in a container --privileged), or ' +
        'run the runner as root. It looks again each minute.'
      : 'Mend that; a running runner looks again each minute.';
  return `Training scripts cannot run here: ${problem}. ${remedy}`;
}
