import { createHash } from 'node:crypto';
import { constants, copyFileSync, existsSync, lchownSync, linkSync, mkdirSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';

import { isReachable, isRoot } from '../data-folder.ts';

/** An unprivileged UID without a name, for the demo machine when root starts the platform. */
const machineUid = 65_533;

export interface MachineFolder {
  readonly root: string;
  readonly credentialsFile: string;
  readonly agentFile: string;
  readonly imagesFolder: string;
  /** The Node that the machine's user may execute. */
  readonly node: string;
  readonly account: { uid?: number; gid?: number };
}

/** Below the data folder, unless root keeps that where the machine's user cannot enter it. */
function machineRoot(dataFolder: string): string {
  mkdirSync(dataFolder, { recursive: true });
  if (!isRoot() || isReachable(dataFolder)) return path.join(dataFolder, 'demo-machine');
  const name = createHash('sha256').update(path.resolve(dataFolder)).digest('hex').slice(0, 8);
  return path.join('/var/lib/platform', `demo-machine-${name}`);
}

/**
 * Prepares the demo machine's own folder: the agent in one file, images for its camera, and no other file of the
 * checkout.
 */
export function prepareMachineFolder(dataFolder: string, agentBundle: string): MachineFolder {
  const root = machineRoot(dataFolder);
  const account = isRoot() ? { uid: machineUid, gid: machineUid } : {};
  const own = (file: string): void => {
    // Does not follow links: the machine may have placed one in its folder.
    if (account.uid !== undefined) lchownSync(file, account.uid, account.uid);
  };
  for (const folder of [root, path.join(root, 'bin'), path.join(root, 'images')]) {
    mkdirSync(folder, { recursive: true, mode: 0o755 });
    own(folder);
  }
  const agentFile = path.join(root, 'bin', 'platform-agent.mjs');
  rmSync(agentFile, { force: true });
  copyFileSync(agentBundle, agentFile, constants.COPYFILE_EXCL);
  const node =
    account.uid !== undefined && !isReachable(path.dirname(process.execPath)) ? reachableNode(root) : process.execPath;
  return {
    root,
    credentialsFile: path.join(root, 'platform.json'),
    agentFile,
    imagesFolder: path.join(root, 'images'),
    node,
    account,
  };
}

/** The same Node under a path that every user may enter: a hard link, or a copy on another file system. */
function reachableNode(root: string): string {
  const node = path.join(root, 'bin', path.basename(process.execPath));
  const wanted = statSync(process.execPath);
  const there = statSync(node, { throwIfNoEntry: false });
  if (there && there.size === wanted.size && there.mtimeMs >= wanted.mtimeMs) return node;
  if (existsSync(node)) rmSync(node);
  try {
    linkSync(process.execPath, node);
  } catch {
    copyFileSync(process.execPath, node);
  }
  return node;
}
