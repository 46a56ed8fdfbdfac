import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { AgentStatus, ProgramExit, ProgramReport } from '@platform/contract/machine/agent-status';
import { shortestSecret } from '@platform/contract/config/secrets';
import { parseCredentials, type MachineCredentials } from '@platform/contract/machine-server/machine-server';
import { createLog } from '@platform/kit';
import { isAlive, readJson, readText } from '@platform/kit/node';
import { lastStatusFile } from './serve-control.ts';
import { badReport, exitReport, timeText, trialReport } from './status.ts';
import type { FileSystem } from '../os/ports.ts';
import { thisHost } from '../os/host.ts';
import { isCustom, shownUrl, shownVersion } from '../state/version-names.ts';
import { reportedLines } from '../state/exit-reason.ts';
import { noPreviousRun, type PreviousRun } from '../health/previous-run.ts';
import { Mask } from '../logs/mask.ts';
import { Exits } from '../versions/trial-exits.ts';
import { idOfTarget, linkPath, statePath, type Program } from '../versions/layout.ts';
import { readBadLines, readTrialLine } from '../state/trial-file.ts';
import type { Context } from '../health/context.ts';

/**
 * The status of a machine whose agent does not run: from the links, the trial and quarantine files, and its last
 * status.
 */
export async function statusOnDisk({
  root,
  files,
  disk,
  clock,
  credentialsFile = '/etc/platform.json',
  previousRun = async () => noPreviousRun,
}: Pick<Context, 'root' | 'disk' | 'clock'> & {
  files: Pick<FileSystem, 'readlink'>;
  credentialsFile?: string;
  previousRun?: () => Promise<PreviousRun>;
}): Promise<AgentStatus> {
  const last = (await readJson(path.join(root, lastStatusFile)).catch(() => undefined)) as AgentStatus | undefined;
  const credentials = parseCredentials(await readText(credentialsFile).catch(() => ''));
  const cloud = credentials.ok ? credentials.value : undefined;
  const server = await serverOf(root);
  const mask = new Mask();
  if (cloud && cloud.payload.length >= shortestSecret) mask.hide([cloud.payload]);
  const ended = await endOfAgent(previousRun, mask);
  const exits = await Exits.open(disk, createLog({ name: 'status', clock, level: 'error', sink: () => {} }));
  const known = { ...nothingKnownOf(root, cloud), ...last };
  const programs = {
    agent: {
      ...(await programOnDisk({ root, files, exits }, 'agent', known.programs.agent)),
      ...(ended && { last_exit: ended }),
    },
    server: await programOnDisk({ root, files, exits }, 'server', known.programs.server),
  };
  return {
    ...known,
    at: timeText(clock.wall()),
    is_running: false,
    agent: { ...known.agent, version: programs.agent.installed || known.agent.version, pid: null, started: null, root },
    cloud: { ...known.cloud, is_reached: false },
    server: { ...known.server, ...server },
    programs: { ...programs, server: { ...programs.server, running: server.version } },
  };
}

/** For a machine whose agent never wrote a status. */
function nothingKnownOf(root: string, cloud: MachineCredentials | undefined): AgentStatus {
  const host = thisHost();
  return {
    at: '',
    is_running: false,
    agent: {
      version: '',
      pid: null,
      part_id: cloud?.partId ?? '',
      root,
      started: null,
      is_supervised_by_systemd: false,
      hostname: host.hostname(),
      platform: host.platform,
      os: host.distro(),
    },
    cloud: { address: cloud?.appAddress ?? '', is_reached: false, since: null, last_contact: null },
    config: { revision: 0, source: 'none', corrections: [] },
    server: {
      at: 'stopped',
      version: '',
      pid: null,
      since: null,
      url: '',
      restarts: 0,
      last_exit: '',
      is_restart_allowed: null,
      is_restart_needed: false,
    },
    programs: { agent: nothingKnown, server: nothingKnown },
    conditions: [],
    logs: { waiting_lines: 0, dropped_lines: 0, spool_bytes: 0 },
  };
}

const nothingKnown: ProgramReport = {
  running: '',
  installed: '',
  wanted: '',
  desired: '',
  pin: '',
  previous: '',
  trial: null,
  quarantined: [],
  last_update: null,
  why: '',
  is_unsigned: false,
};

/** The machine server of an earlier agent may still run. */
async function serverOf(
  root: string,
): Promise<Pick<AgentStatus['server'], 'at' | 'pid' | 'version' | 'url' | 'since'>> {
  const record = (await readJson(path.join(root, 'state/server.json')).catch(() => undefined)) as
    | { pid: number; startTime: string; id: string; url?: string }
    | undefined;
  if (!record || !isAlive(record)) return { at: 'stopped', pid: null, version: '', url: '', since: null };
  const url = record.url ?? '';
  const version = shownVersion(record.id, await urlsOf(root));
  return { at: url === '' ? 'starting' : 'running', pid: record.pid, version, url, since: null };
}

/** How the agent ended, as its supervisor recorded it; undefined: it was stopped, or the reason is unknown. */
async function endOfAgent(previousRun: () => Promise<PreviousRun>, mask: Mask): Promise<ProgramExit | undefined> {
  const { id, reason, lines, atWall } = await previousRun().catch(() => noPreviousRun);
  if (reason === undefined || atWall === undefined) return undefined;
  const shownLines = reportedLines(lines, (text) => mask.text(text));
  return exitReport({ id: id ?? '', reason, lines: shownLines, sinceWall: atWall }, {});
}

async function programOnDisk(
  { root, files, exits }: { root: string; files: Pick<FileSystem, 'readlink'>; exits: Exits },
  program: Program,
  last: ProgramReport,
): Promise<ProgramReport> {
  const text = async (what: 'previous' | 'trial' | 'bad'): Promise<string> =>
    (await readFile(path.join(root, statePath(program, what)), 'utf8').catch(() => '')).trim();
  const installed = idOfTarget(program, await files.readlink(linkPath(program)).catch(() => undefined));
  const trial = readTrialLine(await text('trial'));
  const quarantined = readBadLines(await text('bad')).toReversed();
  const urls = await urlsOf(root);
  const shown = (id: string | undefined): string => (id === undefined || id === '' ? '' : shownVersion(id, urls));
  const isSame = last.installed === shown(installed);
  const isUnsigned = isSame ? last.is_unsigned : (await aboutOf(root, installed))?.target === '';
  const { wait: _wait, ...stored } = last;
  return {
    ...stored,
    running: '',
    installed: shown(installed),
    previous: shown(await text('previous')),
    trial: trial ? trialReport(trial, urls) : null,
    quarantined: quarantined.map((bad) => badReport({ ...bad, exit: exits.get(program, bad.id) }, urls)),
    // The stored reason is about the version that was installed then.
    why: isSame ? last.why : '',
    is_unsigned: isUnsigned,
    is_installed_unsigned: isUnsigned,
  };
}

/** Undefined: missing, or readable by root only. */
const aboutOf = async (root: string, id: string | undefined): Promise<{ url?: string; target?: string } | undefined> =>
  id === undefined
    ? undefined
    : ((await readJson(path.join(root, 'versions', id, 'about.json')).catch(() => undefined)) as { url?: string });

async function urlsOf(root: string): Promise<Record<string, string>> {
  const ids = (await readdir(path.join(root, 'versions')).catch(() => [])).filter(isCustom);
  const found = await Promise.all(ids.map(async (id) => [id, (await aboutOf(root, id))?.url] as const));
  return Object.fromEntries(found.flatMap(([id, url]) => (url === undefined ? [] : [[id, shownUrl(url)]])));
}
