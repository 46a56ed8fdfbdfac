import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { isObject } from '@platform/contract/text/json-object';
import { atomicWrite, readJson } from '@platform/kit/node';
import { removeGuard, type GuardPlaces } from './guard.ts';
import { otherAgentIn, otherUnit, putBack, startsOurs } from './other-agent.ts';

const movedFile = 'state/replaced-agent.json';
/** Where that agent is if nothing names its folder. */
export const standardRoot = '/opt/viam';

/** The agent that this installation has replaced. */
export interface Moved {
  /** Folder of the other agent. */
  root: string;
  /** Without systemd: its service starts our program since. */
  isInPlace: boolean;
}

/** Undefined: this installation has replaced none. */
export async function readMoved(root: string): Promise<Moved | undefined> {
  const found = await readJson(path.join(root, movedFile)).catch(() => undefined);
  if (!isObject(found) || typeof found['root'] !== 'string') return undefined;
  return { root: found['root'], isInPlace: found['is_in_place'] === true };
}

export async function writeMoved(root: string, { root: otherRoot, isInPlace }: Moved): Promise<void> {
  const file = path.join(root, movedFile);
  await mkdir(path.dirname(file), { recursive: true, mode: 0o755 });
  const text = JSON.stringify({ format: 1, root: otherRoot, is_in_place: isInPlace });
  await atomicWrite(file, `${text}\n`, { mode: 0o644 });
}

/** `none`: there is none, or its service starts its own program; `unknown`: nothing names the program of before. */
export type Restored =
  | { is: 'none' }
  | { is: 'restored'; file: string; version: string }
  | { is: 'unknown'; link: string };

/** Makes the other agent's service start its own program again, also in its record, and takes the guard away. */
export async function restoreOtherAgent(root: string, places: Omit<GuardPlaces, 'root'>): Promise<Restored> {
  const other = await otherAgentIn(root);
  if (!(await startsOurs(other))) return { is: 'none' };
  if (!other.previous) return { is: 'unknown', link: other.link };
  await putBack(other);
  await removeGuard({ root, ...places });
  return { is: 'restored', ...other.previous };
}

export const restoredText = ({ file, version }: { file: string; version: string }): string =>
  `restored the agent of another product, version ${version}: ${otherUnit} starts ${file} again`;
export const unknownText = (link: string): string =>
  `${link} still starts platform-agent: nothing names the program of the other agent that ran before. Install the other agent again, or remove ${otherUnit}`;
