import { createReadStream } from 'node:fs';
import { readFile, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { isObject } from '@platform/contract/text/json-object';
import { atomicWrite } from '@platform/kit/node';
import { placeLink } from '../os/path-state.ts';
import { Inspector } from '../versions/inspect.ts';
import { nameOf } from '../versions/layout.ts';

/** Unit of the other product's agent. */
export const otherUnit = 'viam-agent.service';
const otherProgram = 'viam-agent';

/** Where another product's agent keeps its programs, and the version to restore. */
export interface OtherAgent {
  root: string;
  /** A link to the version in use, which its service starts. */
  link: string;
  /** The program that ran before this one replaced it; undefined: no record names it, or the file is missing. */
  previous: { file: string; version: string } | undefined;
}

/**
 * Finds the other agent's folder: the one that this program was downloaded to and started from.
 *
 * @param given - the folder if this program is elsewhere.
 */
export async function findOtherAgent(program: string, given: string): Promise<OtherAgent> {
  const folder = path.dirname(await realpath(program));
  const root =
    path.basename(folder) === 'cache' && (await exists(recordFile(path.dirname(folder))))
      ? path.dirname(folder)
      : given;
  return otherAgentIn(root);
}

export async function otherAgentIn(root: string): Promise<OtherAgent> {
  return { root, link: path.join(root, 'bin', otherProgram), previous: await previousOf(root) };
}

/** The other agent's record of its versions. */
export const recordFile = (root: string): string => path.join(root, 'cache', 'version_cache.json');
const exists = (file: string): Promise<boolean> =>
  stat(file).then(
    () => true,
    () => false,
  );

type Known = { [key: string]: unknown };

/** Undefined: it is missing or unreadable. */
async function readRecord(root: string): Promise<{ record: Known; agent: Known } | undefined> {
  try {
    const record: unknown = JSON.parse(await readFile(recordFile(root), 'utf8'));
    const agent = isObject(record) ? record['viam_agent'] : undefined;
    return isObject(record) && isObject(agent) ? { record, agent } : undefined;
  } catch {
    return undefined;
  }
}

async function previousOf(root: string): Promise<OtherAgent['previous']> {
  const agent = (await readRecord(root))?.agent;
  const version = agent?.['previous_version'];
  const versions = agent?.['versions'];
  if (typeof version !== 'string' || !isObject(versions)) return undefined;
  const one = versions[version];
  if (!isObject(one)) return undefined;
  for (const file of [one['UnpackedPath'], one['DlPath']])
    if (typeof file === 'string' && file !== '' && (await exists(file))) return { file, version };
  return undefined;
}

/** Text of the record that names the previous program as the one in use; undefined: no record is readable. */
export async function restoredRecord({ root, previous }: OtherAgent): Promise<string | undefined> {
  const found = await readRecord(root);
  if (!found || !previous) return undefined;
  const agent = { ...found.agent, current_version: previous.version, target_version: previous.version };
  return JSON.stringify({ ...found.record, viam_agent: agent });
}

/** Restores the previous program, also in the record, so that the other agent knows its version. */
export async function putBack(other: OtherAgent): Promise<void> {
  const { root, link, previous } = other;
  if (!previous) throw new Error('nothing names the program that ran before');
  // The record first: an interrupted attempt is recognized by the link and repeated.
  const record = await restoredRecord(other);
  if (record !== undefined) await atomicWrite(recordFile(root), record, { mode: 0o644 });
  await placeLink(link, previous.file);
}

/** Whether the other agent's service would start a program of ours. */
export async function startsOurs({ link }: Pick<OtherAgent, 'link'>): Promise<boolean> {
  const file = await realpath(link).catch(() => undefined);
  if (file === undefined) return false;
  const inspector = new Inspector();
  for await (const chunk of createReadStream(file)) inspector.update(chunk as Buffer);
  return inspector.finish().note?.name === nameOf('agent');
}
