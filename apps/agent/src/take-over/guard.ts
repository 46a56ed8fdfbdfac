import { mkdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { atomicWrite, readText } from '@platform/kit/node';
import { agentUnit, relayUnit, serverUnit } from '../install/unit.ts';
import { otherUnit, recordFile, restoredRecord, type OtherAgent } from './other-agent.ts';

/** How often a take-over may fail before the other agent is restored. */
export const mostFailures = 3;

/** Where the guard of a take-over keeps its files. */
export interface GuardPlaces {
  root: string;
  unitFolder: string;
  /** In memory: a file that survives neither a reboot nor a power cut. */
  startFile: string;
}

export const startFileIn = (memoryFolder: string): string => path.join(memoryFolder, 'take-over.started');
const folder = (root: string): string => path.join(root, 'etc', 'platform-agent-guard');
const script = (root: string): string => path.join(folder(root), 'guard.sh');
const createdFile = (root: string): string => path.join(folder(root), 'created');
/** Outlives the guard: the version that failed, until that is reported. */
const failedFile = (root: string): string => path.join(root, 'etc', 'platform-agent-guard.failed');
const dropInFile = (unitFolder: string): string => path.join(unitFolder, `${otherUnit}.d`, '50-platform-agent.conf');

/**
 * Runs before each start of the other agent's service. It counts the starts of one boot that ended unasked: a reboot, a
 * power cut and a requested stop do not count. After the last one it ends our services and restores the other agent's
 * program, record and files. A shell script: a program that crashes cannot skip it.
 */
const guardText = `#!/bin/sh
# usage: guard.sh LINK PREVIOUS RECORD START VERSION DROP-IN
link=$1 previous=$2 record=$3 start=$4 version=$5 dropin=$6
here=$(dirname "$0")
[ "$(readlink -f "$link")" = "$(readlink -f "$previous")" ] && exit 0
[ -x "$previous" ] || exit 0
count=$(cat "$here/failures" 2>/dev/null)
case $count in '' | *[!0-9]*) count=0 ;; esac
if [ -e "$start" ]; then
  count=$((count + 1))
  echo "$count" >"$here/failures" && sync
fi
if [ "$count" -lt ${mostFailures} ]; then
  mkdir -p -m 700 "$(dirname "$start")" && : >"$start"
  exit 0
fi
if command -v systemctl >/dev/null; then
  systemctl disable ${agentUnit}
  timeout 90 systemctl stop ${agentUnit} ${serverUnit} ${relayUnit}
fi
[ -f "$here/record.json" ] && cp "$here/record.json" "$record.back" && mv -f "$record.back" "$record"
[ -f "$here/created" ] && while read -r file; do rm -f "$file"; done <"$here/created"
echo "$version" >"$here.failed"
ln -sfn "$previous" "$link.back" && mv -f "$link.back" "$link" && sync || exit 0
rm -rf "$start" "$dropin" "$here"
command -v systemctl >/dev/null && systemctl daemon-reload
echo "platform-agent did not take over in ${mostFailures} starts: $previous is back"
exit 0
`;

/**
 * Installs the guard before the next start. Returns false if there is no previous program to restore.
 *
 * @param version - of this program.
 */
export async function installGuard(other: OtherAgent, version: string, places: GuardPlaces): Promise<boolean> {
  const { root, link, previous } = other;
  if (!previous) return false;
  await removeGuard(places);
  const dropIn = dropInFile(places.unitFolder);
  for (const one of [folder(root), path.dirname(dropIn)]) await mkdir(one, { recursive: true, mode: 0o755 });
  const record = await restoredRecord(other);
  if (record !== undefined) await atomicWrite(path.join(folder(root), 'record.json'), record, { mode: 0o644 });
  await atomicWrite(script(root), guardText, { mode: 0o755 });
  const words = ['/bin/sh', script(root), link, previous.file, recordFile(root), places.startFile, version, dropIn];
  const text = `# Written by platform-agent, which takes over from this service.\n[Service]\nExecStartPre=-${words.map(word).join(' ')}\n`;
  await atomicWrite(dropIn, text, { mode: 0o644 });
  return true;
}

/** Whether a take-over was prepared and has neither finished nor been given up. */
export const hasGuard = (root: string): Promise<boolean> =>
  stat(script(root)).then(
    () => true,
    () => false,
  );

/** The next start does not count this one as a failure. */
export const noteRequestedStop = ({ startFile }: GuardPlaces): Promise<void> => rm(startFile, { force: true });

/** Records a file before it is created, so that it is removed if the take-over fails. */
export async function recordCreated(root: string, file: string): Promise<void> {
  const files = await readCreated(root);
  if (files.includes(file)) return;
  await mkdir(folder(root), { recursive: true, mode: 0o755 });
  await atomicWrite(createdFile(root), [...files, file].map((one) => `${one}\n`).join(''), { mode: 0o644 });
}

/** Removes what the take-over created for its own service. */
export async function removeCreated(root: string): Promise<void> {
  for (const file of await readCreated(root)) await rm(file, { force: true });
}

const readCreated = async (root: string): Promise<readonly string[]> =>
  (await readText(createdFile(root)).catch(() => '')).split('\n').filter(Boolean);

/** @returns whether there was one. */
export async function removeGuard({ root, unitFolder, startFile }: GuardPlaces): Promise<boolean> {
  const wasThere = await hasGuard(root);
  for (const one of [dropInFile(unitFolder), folder(root), startFile]) await rm(one, { recursive: true, force: true });
  return wasThere;
}

/** The version that the guard has given up; undefined: none, or that was reported. */
export const readGivenUp = async (root: string): Promise<string | undefined> =>
  (await readText(failedFile(root)).catch(() => '')).trim() || undefined;

export const forgetGivenUp = (root: string): Promise<void> => rm(failedFile(root), { force: true });

/** Quotes a word for systemd. */
const word = (text: string): string => {
  const plain = text.replaceAll('%', '%%').replaceAll('$', '$$$$');
  return /^[\w@%+=:,./$-]+$/.test(plain) ? plain : `"${plain.replace(/["\\]/g, '\\$&')}"`;
};
