import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors/errors';
import { errorText, type Clock, type Log } from '@platform/kit';
import { atomicWrite, lockFolder } from '@platform/kit/node';
import { controlOf } from '../control/client.ts';
import { chunksOf, makeFolder } from '../os/file-disk.ts';
import { agentUnit } from './unit.ts';
import { Inspector } from '../versions/inspect.ts';
import { partFolder } from '../versions/layout.ts';
import { programStore } from '../versions/program-store.ts';
import { rememberUnit } from '../versions/unit-renewal.ts';
import { readChanges, recordBefore, type Changes } from './changes.ts';
import { placeLink } from '../os/path-state.ts';
import type { Candidate } from './facts.ts';
import { stepText, type Step } from './install-plan.ts';
import type { FileSystem, System } from '../os/ports.ts';

export const rootFolders = ['state', 'log', 'spool', 'cache', partFolder, 'versions', 'bin', 'lib'];

export interface ApplyParts {
  root: string;
  credentialsFile: string;
  unitFile: string;
  candidate: Candidate;
  /** Path among the signed targets; empty: the program is unsigned. */
  target: string;
  /** The management server is reachable: then a new agent must reach it, too. */
  isOnline: boolean;
  system: System;
  clock: Clock;
  log: Log;
  report: (text: string) => void;
  /** Receives what the installation does without. */
  note: (text: string) => void;
}

/** A step that failed. Earlier steps are not undone. */
export class StepFailed extends Error {
  constructor(step: Step, why: string) {
    super(`Could not ${stepText(step)}: ${why}`);
    this.name = 'StepFailed';
  }
}

/**
 * Runs the steps in order: it prepares everything beside the installation in use, then switches. Before it changes a
 * file outside the root, it records the previous content below the root.
 *
 * @throws StepFailed; FolderLocked while another installation runs
 */
export async function applySteps(steps: readonly Step[], parts: ApplyParts): Promise<void> {
  const { root, credentialsFile, unitFile, system } = parts;
  if (steps.length === 0) return;
  await mkdir(path.join(root, 'state'), { recursive: true, mode: 0o755 });
  await using _lock = await lockFolder(path.join(root, 'state', 'install.lock'));
  let changes: Changes = (await readChanges(root)) ?? { format: 1, credentialsFile, unitFile, paths: [] };
  for (const step of steps) {
    try {
      const outside = outsideFile(step, parts);
      if (outside !== undefined) changes = await recordBefore(root, { ...changes, credentialsFile, unitFile }, outside);
      await apply(step, parts);
      parts.report(stepText(step));
    } catch (error) {
      if (step.do === 'link') {
        // A convenience: image systems have a read-only /usr.
        parts.note(`go without ${step.file} (${errorText(error)}): the command is ${step.target}`);
        continue;
      }
      throw error instanceof StepFailed ? error : new StepFailed(step, errorText(error));
    }
  }
  await system.run('sync'); // makes the links of `systemctl enable` durable
}

/** Credentials are not recorded: they are secret, and uninstalling removes them. */
function outsideFile(step: Step, { root, credentialsFile }: ApplyParts): string | undefined {
  const file = step.do === 'write' || step.do === 'link' ? step.file : undefined;
  return file === undefined || file === credentialsFile || file.startsWith(`${root}/`) ? undefined : file;
}

async function apply(step: Step, parts: ApplyParts): Promise<void> {
  const { root, candidate, system, clock, log } = parts;
  const files = system.files(root);
  const store = programStore(files, 'agent', { clock, log });
  const systemctl = async (...args: string[]): Promise<void> => {
    const { code, text } = await system.run('systemctl', ...args);
    if (code !== 0) throw new StepFailed(step, text || `systemctl ended with ${code}`);
  };
  switch (step.do) {
    case 'stop-other':
      return systemctl('disable', '--now', step.unit);
    case 'make-folders':
      for (const name of rootFolders) await makeFolder(files, name);
      return;
    case 'stage': {
      const part = `${partFolder}/install`;
      await copyChecked(candidate, system.files(path.dirname(candidate.file)), files, part);
      const { version, sha256, sizeBytes } = candidate;
      const id = await store.stage(part, { version, sha256, sizeBytes, url: '', target: parts.target });
      if (id !== step.id) throw new Error(`it was stored as ${id}`);
      return;
    }
    case 'write':
      await mkdir(path.dirname(step.file), { recursive: true, mode: 0o755 });
      if (step.keepsOld) await keepOld(step.file);
      await atomicWrite(step.file, step.text, { mode: step.mode });
      if (step.file === parts.unitFile) await rememberUnit(files, step.text);
      return;
    case 'link':
      return placeLink(step.file, step.target);
    case 'clear-quarantine':
      await store.clearQuarantine();
      return;
    case 'use':
      return store.activate(step.id, { clearance: 0, needs: parts.isOnline ? 'cloud' : 'local' });
    case 'reload':
      return systemctl('daemon-reload');
    case 'enable':
      return systemctl('enable', '--quiet', agentUnit);
    case 'start':
      await system.run('systemctl', 'reset-failed', agentUnit);
      return systemctl('start', '--no-block', agentUnit);
    case 'hand-over':
      // An agent that does not answer or has no handover is restarted, and with it the machine server.
      return controlOf(root, clock)
        .post('/handover', {})
        .then(
          ({ is_changed: isDone }) => (isDone ? undefined : systemctl('restart', '--no-block', agentUnit)),
          () => systemctl('restart', '--no-block', agentUnit),
        );
    case 'restart':
      return systemctl('restart', '--no-block', agentUnit);
  }
}

/**
 * Copies the program from `source` to `part` below the root of `files`. @throws PlatformError DOWNLOAD_CORRUPT if the
 * file has changed
 */
export async function copyChecked(
  candidate: Candidate,
  source: FileSystem,
  files: FileSystem,
  part: string,
): Promise<void> {
  await makeFolder(files, partFolder);
  const inspector = new Inspector();
  const copy = await files.openWrite(part, { mode: 0o600 });
  try {
    for await (const chunk of chunksOf(source, path.basename(candidate.file))) {
      inspector.update(chunk);
      await copy.write(chunk);
    }
    await copy.sync();
  } finally {
    await copy.close();
  }
  const { sha256 } = inspector.finish();
  if (sha256 === candidate.sha256) return;
  await files.unlink(part);
  throw new PlatformError('DOWNLOAD_CORRUPT', { url: candidate.file, wantSha256: candidate.sha256, gotSha256: sha256 });
}

/** Copies instead of renaming: the machine always has its credentials. */
async function keepOld(file: string): Promise<void> {
  const old = await readFile(file).catch(() => undefined);
  if (old) await atomicWrite(`${file}.old`, old, { mode: 0o600 });
}
