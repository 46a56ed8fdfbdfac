import { mkdir, readFile, realpath, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { isObject } from '@platform/contract/json-object';
import { atomicWrite } from '@platform/kit/node';
import { placeLink } from '../os/path-state.ts';

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

/** How often a program may start without a take-over before the other agent is restored. */
export const mostTries = 3;

/**
 * Finds the other agent's folder: the one that this program was downloaded to and started from.
 *
 * @param given - the folder if this program is elsewhere.
 */
export async function findOtherAgent(program: string, given: string): Promise<OtherAgent> {
  const folder = path.dirname(await realpath(program));
  const root =
    path.basename(folder) === 'cache' && (await exists(cacheFile(path.dirname(folder)))) ? path.dirname(folder) : given;
  return { root, link: path.join(root, 'bin', otherProgram), previous: await previousOf(root) };
}

const cacheFile = (root: string): string => path.join(root, 'cache', 'version_cache.json');
const exists = (file: string): Promise<boolean> =>
  stat(file).then(
    () => true,
    () => false,
  );

type Known = { [key: string]: unknown };

/** The other agent's record of its versions; undefined: it is missing or unreadable. */
async function readCache(root: string): Promise<{ cache: Known; agent: Known } | undefined> {
  try {
    const cache: unknown = JSON.parse(await readFile(cacheFile(root), 'utf8'));
    const agent = isObject(cache) ? cache['viam_agent'] : undefined;
    return isObject(cache) && isObject(agent) ? { cache, agent } : undefined;
  } catch {
    return undefined;
  }
}

async function previousOf(root: string): Promise<OtherAgent['previous']> {
  const agent = (await readCache(root))?.agent;
  const version = agent?.['previous_version'];
  const versions = agent?.['versions'];
  if (typeof version !== 'string' || !isObject(versions)) return undefined;
  const one = versions[version];
  if (!isObject(one)) return undefined;
  for (const file of [one['UnpackedPath'], one['DlPath']])
    if (typeof file === 'string' && file !== '' && (await exists(file))) return { file, version };
  return undefined;
}

/** Restores the previous program, also in the record, so that the other agent knows its version. */
export async function putBack({ root, link, previous }: OtherAgent): Promise<void> {
  if (!previous) throw new Error('nothing names the program that ran before');
  await placeLink(link, previous.file);
  const found = await readCache(root);
  if (!found) return;
  const agent = { ...found.agent, current_version: previous.version, target_version: previous.version };
  await atomicWrite(cacheFile(root), JSON.stringify({ ...found.cache, viam_agent: agent }), { mode: 0o644 });
}

const guardFile = (root: string): string => path.join(root, 'etc', 'platform-agent-guard.sh');
const countFile = (root: string): string => path.join(root, 'etc', 'platform-agent-guard.starts');
const dropInFile = (unitFolder: string): string => path.join(unitFolder, `${otherUnit}.d`, '50-platform-agent.conf');

/**
 * Runs before each start of the other agent's service. A program that cannot take over for any reason gets three
 * starts; then the other agent's own program is restored. A shell script: a program that crashes cannot skip it.
 */
const guardText = `#!/bin/sh
# usage: platform-agent-guard.sh LINK PREVIOUS COUNT
link=$1 previous=$2 count=$3
[ "$(readlink -f "$link")" = "$(readlink -f "$previous")" ] && exit 0
[ -x "$previous" ] || exit 0
starts=$(cat "$count" 2>/dev/null)
case $starts in '' | *[!0-9]*) starts=0 ;; esac
if [ "$starts" -ge ${mostTries} ]; then
  ln -sfn "$previous" "$link.back" && mv -f "$link.back" "$link" && sync
  echo "platform-agent did not take over in ${mostTries} starts: $previous is back"
  exit 0
fi
echo $((starts + 1)) >"$count" && sync
`;

/** Installs the guard before the next start. Returns false if there is no previous program to restore. */
export async function guard({ root, link, previous }: OtherAgent, unitFolder: string): Promise<boolean> {
  if (!previous) return false;
  await rm(countFile(root), { force: true });
  for (const file of [guardFile(root), dropInFile(unitFolder)])
    await mkdir(path.dirname(file), { recursive: true, mode: 0o755 });
  await atomicWrite(guardFile(root), guardText, { mode: 0o755 });
  const words = ['/bin/sh', guardFile(root), link, previous.file, countFile(root)];
  const text = `# Written by platform-agent, which takes over from this service.\n[Service]\nExecStartPre=-${words.map(word).join(' ')}\n`;
  await atomicWrite(dropInFile(unitFolder), text, { mode: 0o644 });
  return true;
}

/** Removes the guard. */
export async function removeGuard(root: string, unitFolder: string): Promise<void> {
  for (const file of [dropInFile(unitFolder), guardFile(root), countFile(root)]) await rm(file, { force: true });
}

/** Quotes a word for systemd. */
const word = (text: string): string => {
  const plain = text.replaceAll('%', '%%').replaceAll('$', '$$$$');
  return /^[\w@%+=:,./$-]+$/.test(plain) ? plain : `"${plain.replace(/["\\]/g, '\\$&')}"`;
};
