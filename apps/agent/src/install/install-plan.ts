import { unusableRemedy } from '@platform/kit/node';
import { noexecProblem } from '../os/mounts.ts';
import type { Facts } from './facts.ts';

export interface DesiredInstallation {
  root: string;
  credentialsFile: string;
  /** Credentials that the management server returned for this installation; undefined: use the existing ones. */
  credentials: { text: string; partId: string } | undefined;
  unitFile: string;
  unitText: string;
  gateFile: string;
  gateText: string;
  environmentFile: string;
  /** Proxies of this shell, for the agent; empty: none. */
  environmentText: string;
  /** The proxies among them that cannot be used, as text for users. */
  unusableProxies: readonly string[];
  /** A link in a folder of PATH. */
  linkFile: string;
  linkTarget: string;
  /** False: installs everything but starts nothing, for example in a disk image. */
  isStarted: boolean;
  /** False: systemd is not called at all. */
  usesSystemd: boolean;
  isForced: boolean;
  /** False: a device without credentials is installed, too; it gets them in provisioning. */
  needsCredentials: boolean;
  isReplacing: boolean;
}

export type Step =
  | { do: 'stop-other'; unit: string }
  | { do: 'make-folders'; root: string }
  | { do: 'write'; what: string; file: string; text: string; mode: number; keepsOld: boolean }
  | { do: 'stage'; id: string }
  | { do: 'clear-quarantine'; id: string }
  | { do: 'use'; id: string; before: string | null }
  | { do: 'link'; file: string; target: string }
  | { do: 'reload' }
  | { do: 'enable' }
  | { do: 'start' }
  | { do: 'hand-over' }
  | { do: 'restart' };

export interface Refusal {
  code: string;
  what: string;
  remedy: string;
}

export const neededBytes = 450 * 1_000_000;

/** The reasons against an installation; empty: it is possible. */
export function refusalsOf(facts: Facts, desired: DesiredInstallation): Refusal[] {
  const list: Refusal[] = [];
  const refuse: Refuse = (code, what, remedy) => void list.push({ code, what, remedy });
  checkMachine(facts, desired, refuse);
  checkFolders(facts, desired, refuse);
  checkProgram(facts, desired, refuse);
  checkStrayAgent(facts, desired, refuse);
  for (const text of desired.unusableProxies) refuse('PROXY_UNSUPPORTED', text, unusableRemedy);
  checkOtherAgents(facts, desired, refuse);
  checkCredentials(facts, desired, refuse);
  return list;
}

type Refuse = (code: string, what: string, remedy: string) => void;

function checkMachine(facts: Facts, desired: DesiredInstallation, refuse: Refuse): void {
  if (!facts.isRoot && desired.usesSystemd) {
    refuse('NOT_ROOT', 'Only root can install a service.', 'Run the same command with sudo.');
  }
  if (!facts.platform.startsWith('linux/')) {
    refuse('NOT_LINUX', `This is ${facts.platform}.`, 'Install on Linux; elsewhere run `platform-agent run` yourself.');
  }
  if (facts.userlandBits === 32) {
    refuse(
      'USERLAND_32_BIT',
      'The operating system of this machine is 32-bit, even if its kernel is 64-bit.',
      'Install a 64-bit image of the operating system.',
    );
  }
  if (desired.usesSystemd && desired.isStarted && !facts.isSystemdRunning) {
    refuse(
      'NO_SYSTEMD',
      'systemd does not run on this machine.',
      'Use --no-start to install everything for the next boot, or run `platform-agent run` under another supervisor.',
    );
  }
}

function checkFolders(facts: Facts, desired: DesiredInstallation, refuse: Refuse): void {
  if (facts.freeBytes < neededBytes && !facts.stored.includes(facts.candidate.id)) {
    refuse(
      'DISK_FULL',
      `${Math.floor(facts.freeBytes / 1e6)} MB are free for ${desired.root}; ${neededBytes / 1e6} MB are needed.`,
      'Free some space, or choose a folder on another disk with --root.',
    );
  }
  if (facts.noexecAt !== undefined) {
    const { what, remedy } = noexecProblem(desired.root, facts.noexecAt);
    refuse('ROOT_NOEXEC', what, remedy);
  }
  for (const { path, because } of desired.usesSystemd ? facts.exposed : []) {
    if (path === desired.credentialsFile) continue; // a step corrects it
    refuse(
      'EXPOSED',
      `${path} can be changed by others than root (${because}): the agent runs as root, so they could do everything.`,
      `Close it: chown root ${path} && chmod go-w ${path}; or choose another place.`,
    );
  }
}

function checkProgram(facts: Facts, desired: DesiredInstallation, refuse: Refuse): void {
  if (facts.candidate.refusal !== undefined) {
    refuse(
      'PROGRAM_UNUSABLE',
      `${facts.candidate.file} cannot be installed as platform-agent: ${facts.candidate.refusal}.`,
      'Download platform-agent for this machine, and run its own install command.',
    );
  }
  if (facts.quarantine !== undefined && !desired.isForced) {
    refuse(
      'QUARANTINED',
      `Version ${facts.candidate.version} failed on this machine: ${facts.quarantine}.`,
      'Install another version, or use --force to try this one again.',
    );
  }
}

function checkStrayAgent(facts: Facts, desired: DesiredInstallation, refuse: Refuse): void {
  if (facts.strayPid !== undefined && desired.usesSystemd) {
    refuse(
      'AGENT_RUNNING',
      `An agent that systemd does not know of runs for ${desired.root}, process ${facts.strayPid}.`,
      'Stop it first: two agents cannot share a folder.',
    );
  }
}

function checkOtherAgents({ others }: Facts, desired: DesiredInstallation, refuse: Refuse): void {
  if (desired.isReplacing) return;
  for (const { unit, file, isActive } of others) {
    refuse(
      'OTHER_AGENT',
      `${unit} (${file}) is ${isActive ? 'running' : 'set up'} here: two agents would fight over one machine.`,
      'Use --replace to stop and disable it; its files are kept.',
    );
  }
}

function checkCredentials({ credentials }: Facts, desired: DesiredInstallation, refuse: Refuse): void {
  const isWithout = credentials.at === 'none' && !desired.needsCredentials;
  if (!desired.credentials && !isWithout && credentials.at !== 'usable') {
    refuse(
      'NO_CREDENTIALS',
      credentials.at === 'none'
        ? `There are no credentials: ${desired.credentialsFile} does not exist.`
        : `The credentials in ${desired.credentialsFile} cannot be used: ${credentials.problem}.`,
      'Set PLATFORM_API_KEY_ID, PLATFORM_API_KEY, PLATFORM_PART_ID and PLATFORM_URL, or copy the credentials of this machine to that file.',
    );
  }
  if (
    desired.credentials &&
    credentials.at === 'usable' &&
    credentials.partId !== desired.credentials.partId &&
    !desired.isForced
  ) {
    refuse(
      'OTHER_CREDENTIALS',
      `${desired.credentialsFile} holds the credentials of another machine (part ${credentials.partId}).`,
      'Use --force to replace them; the old ones are kept beside them as .old.',
    );
  }
}

/** The steps to the desired state; empty if it is reached. */
export function stepsOf(facts: Facts, desired: DesiredInstallation): Step[] {
  const steps: Step[] = [];
  const { candidate, unit, files } = facts;
  const write = (what: string, file: string, text: string, mode: number, keepsOld = false): void => {
    const found = files.get(file);
    if (found?.is === 'file' && found.text === text && (found.mode & 0o777) === mode) return;
    steps.push({ do: 'write', what, file, text, mode, keepsOld });
  };
  if (desired.isReplacing) {
    for (const other of facts.others) steps.push({ do: 'stop-other', unit: other.unit });
  }
  const isNew = facts.installed !== candidate.id;
  if (!facts.stored.includes(candidate.id)) {
    steps.push({ do: 'make-folders', root: desired.root }, { do: 'stage', id: candidate.id });
  }
  if (desired.credentials) write('the credentials', desired.credentialsFile, desired.credentials.text, 0o600, true);
  else if (facts.credentials.at === 'usable' && areOpen(facts, desired)) {
    const { credentialsFile: file } = desired;
    steps.push({
      do: 'write',
      what: 'the credentials anew, for root alone,',
      file,
      text: facts.credentials.text,
      mode: 0o600,
      keepsOld: false,
    });
  }
  const beforeUnit = steps.length;
  write('the gate', desired.gateFile, desired.gateText, 0o755);
  // Without proxies in this shell, those of an earlier installation stay.
  if (desired.environmentText !== '') write('the proxies', desired.environmentFile, desired.environmentText, 0o600);
  write('the unit', desired.unitFile, desired.unitText, 0o644);
  const isUnitNew = steps.slice(beforeUnit).some((step) => step.do === 'write' && step.file !== desired.gateFile);
  const link = files.get(desired.linkFile);
  if (link?.is !== 'link' || link.target !== desired.linkTarget) {
    steps.push({ do: 'link', file: desired.linkFile, target: desired.linkTarget });
  }
  if (isNew) steps.push({ do: 'use', id: candidate.id, before: facts.installed });
  // After `use`: with the quarantine entry, `use` finds another version to roll back to.
  if (facts.quarantine !== undefined) steps.push({ do: 'clear-quarantine', id: candidate.id });
  if (!desired.usesSystemd) return steps;
  const areCredentialsNew =
    desired.credentials !== undefined &&
    steps.some((step) => step.do === 'write' && step.file === desired.credentialsFile);
  if (facts.isSystemdRunning && (isUnitNew || unit.needsReload)) steps.push({ do: 'reload' });
  if (!unit.isEnabled) steps.push({ do: 'enable' });
  if (!desired.isStarted) return steps;
  if (!unit.isActive) steps.push({ do: 'start' });
  else if (isUnitNew || areCredentialsNew) steps.push({ do: 'restart' });
  else if (isNew) steps.push({ do: 'hand-over' });
  return steps;
}

/** Other users can read or change the credentials, for example because the file was moved from a home folder. */
function areOpen({ files, exposed }: Facts, { credentialsFile }: DesiredInstallation): boolean {
  const found = files.get(credentialsFile);
  const isReadable = found?.is === 'file' && (found.mode & 0o077) !== 0;
  return isReadable || exposed.some(({ path }) => path === credentialsFile);
}

/** Describes a step for users, without a subject. */
export function stepText(step: Step): string {
  switch (step.do) {
    case 'stop-other':
      return `stop and disable ${step.unit}`;
    case 'make-folders':
      return `make the folders in ${step.root}`;
    case 'write':
      return `write ${step.what} to ${step.file}`;
    case 'stage':
      return `store version ${step.id}`;
    case 'clear-quarantine':
      return `forget that version ${step.id} failed here`;
    case 'use':
      return step.before === null ? `use version ${step.id}` : `use version ${step.id} in place of ${step.before}`;
    case 'link':
      return `link ${step.file} to ${step.target}`;
    case 'reload':
      return 'make systemd read its units again';
    case 'enable':
      return 'start platform-agent at every boot from now on';
    case 'start':
      return 'start platform-agent';
    case 'hand-over':
      return 'let the new version take over; the machine server goes on meanwhile';
    case 'restart':
      return 'restart platform-agent';
  }
}
