import { existsSync } from 'node:fs';
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors/errors';
import { isBefore } from '@platform/contract/releases/semantic-version';
import { formatBytes } from '@platform/kit';
import { FolderLocked, lockFolder, systemClock } from '@platform/kit/node';
import { prepareAccounts } from './accounts.ts';
import { pinKey } from './archive-key.ts';
import { snapshotSize } from './data-snapshot.ts';
import { readFirstRun, writeKeysOfFirstStart } from './first-start.ts';
import { places, requireHost, units } from './places.ts';
import { checkPublicUrl } from './public-url.ts';
import { untilReady } from './readiness.ts';
import { readServerOptions } from './server-options.ts';
import { askMissing, readSettings, type SettingFlags, writeSettings } from './settings.ts';
import {
  currentLink,
  currentVersion,
  provenLink,
  isReplacing,
  readOutcome,
  readPrevious,
  readSwitch,
  schemaOf,
  type Switch,
  versionFolder,
  writeSwitch,
} from './state.ts';
import { attempt, requireSpace, switchLink, systemctl, targetOf } from './system.ts';
import { enableUnits, linkUnits } from './unit-files.ts';
import { placeVersion, type Unpacked } from './versions.ts';

type Say = (text: string) => void;

export interface Installed {
  readonly version: string;
  readonly changed: readonly string[];
  readonly warnings: readonly string[];
  /** Only after the first installation. */
  readonly signInUrl: string | undefined;
}

/** Runs `work` unless another command changes the installation. @throws PlatformError INSTALLATION_IN_USE */
export async function alone<T>(work: () => Promise<T>): Promise<T> {
  requireHost();
  try {
    await using _lock = await lockFolder('/run/platform-management.lock');
    return await work();
  } catch (error) {
    if (error instanceof FolderLocked) throw new PlatformError('INSTALLATION_IN_USE', { pid: error.pid }, error);
    throw error;
  }
}

/**
 * Installs or upgrades to an unpacked archive. Does only what is missing.
 *
 * @param of - key: the key of the archive, which is pinned once its version is in use.
 */
export async function install(
  unpacked: Unpacked,
  { flags, key, readyWithinS, say }: { flags: SettingFlags; key: string | undefined; readyWithinS: number; say: Say },
): Promise<Installed> {
  await finishSwitch(say);
  refuseWhileReplacing();
  const settings = await readSettings(await askMissing(flags));
  const { version } = unpacked.archive;
  const before = currentVersion();
  if (before !== undefined && isBefore(version, before))
    throw new PlatformError('OLDER_VERSION', { version, current: before });
  const isEmpty = !existsSync(path.join(places.data, 'cloud/secrets.json'));
  const accounts = prepareAccounts();
  const changed: string[] = [];
  if (placeVersion(unpacked)) changed.push(versionFolder(version));
  changed.push(...(await writeSettings(settings, accounts)));
  // Until a version has passed the health check, the first one finishes its own installation.
  if (before === undefined) switchLink(currentLink, version);
  if (targetOf(provenLink) === undefined) switchLink(provenLink, version);
  const { changed: linked, kept } = linkUnits();
  changed.push(...linked.map((unit) => path.join(places.units, unit)));
  if (enableUnits()) changed.push('units enabled');
  if (linkCommand()) changed.push(places.command);
  const warnings = [
    ...settings.warnings,
    ...kept.map(
      (file) => `A user had replaced a unit. It is kept as ${file}; add settings with "systemctl edit" instead.`,
    ),
  ];
  const isFirst = (await readFirstRun()) === undefined;
  if (before !== undefined && isEmpty) {
    changed.push(path.join(places.data, 'cloud'));
    warnings.push(
      `The data folder was empty, so this is a new installation. To get the data of before back: platform admin restore FOLDER --replace.`,
    );
  }
  if (before !== version) await switchTo(version, { from: before ?? null, restore: null, readyWithinS, say });
  else if (changed.length > 0 || !isActive()) await restart(version, readyWithinS);
  if (changed.length > 0 || before !== version) {
    say('Publishing agent and machine server …');
    // The rest of the installation works without them, and the hourly maintenance tries again.
    const { code } = attempt('systemctl', 'start', units.maintenance);
    if (code !== 0)
      warnings.push(
        `Agent and machine server are not published yet: see "journalctl -u ${units.maintenance}". It is tried again every hour.`,
      );
  }
  // Enabled units start with the system only.
  systemctl('start', units.timer, units.backupTimer);
  if (changed.length > 0 || before !== version) attempt('systemctl', 'start', '--no-block', units.backup);
  await pinKey(key);
  if (key === undefined) warnings.push(notSigned);
  const elsewhere = await checkPublicUrl().catch(() => undefined);
  if (elsewhere !== undefined) warnings.push(elsewhere);
  const signInUrl = isFirst ? (await readFirstRun())?.sign_in_url : undefined;
  return { version, changed, warnings, signInUrl };
}

const notSigned =
  'This archive is not signed, so no key is pinned: any archive that root upgrades to runs as root. Sign archives with "npm run build:server -- --sign-key FILE".';

const isActive = (): boolean => attempt('systemctl', 'is-active', '--quiet', units.server).code === 0;

/** The command for users, unless another program has the name. */
function linkCommand(): boolean {
  const wanted = path.join(currentLink, 'platform');
  if (existsSync(places.command) || targetOf(places.command) === wanted) return false;
  switchLink(places.command, wanted);
  return true;
}

async function restart(version: string, readyWithinS: number): Promise<void> {
  systemctl('restart', units.server);
  const problem = await untilReady(version, readyWithinS);
  if (problem !== undefined) throw new PlatformError('SERVER_NOT_READY', { version, problem });
  await writeKeysOfFirstStart();
  systemctl('restart', units.runner);
}

/**
 * Switches to a version that is complete on the disk, in a unit of its own: a closed terminal does not interrupt it.
 *
 * @throws PlatformError SERVER_NOT_READY if the version was reverted; DISK_FULL before anything is stopped.
 */
async function switchTo(
  to: string,
  { from, restore, readyWithinS, say }: Pick<Switch, 'from' | 'restore' | 'readyWithinS'> & { say: Say },
): Promise<void> {
  const hasNewSchema = from !== null && schemaOf(from) !== schemaOf(to);
  if (from !== null && (await readServerOptions()).database_url === undefined) {
    const bytes = snapshotSize();
    requireSpace(places.state, bytes * (restore === null ? 1.1 : 2.1), 'the snapshot of the database');
    say(`Stopping version ${from}, saving its data (${formatBytes(bytes)}), starting version ${to} …`);
  }
  const startedAt = systemClock.wall();
  await writeSwitch({ from, to, stage: 'prepare', hasNewSchema, restore, snapshot: null, readyWithinS, startedAt });
  attempt('systemctl', 'start', units.switch);
  await finishSwitch(say);
  const outcome = await readOutcome();
  if (outcome?.startedAt === startedAt && outcome.outcome === 'done') return;
  const kept = from === null ? '' : `Version ${from} runs again; `;
  throw new PlatformError('SERVER_NOT_READY', {
    version: to,
    problem: `${kept}${outcome?.reason ?? 'the switch did not end'}`,
  });
}

/** While folders change places, the data may be away: an empty folder would be made in their place. */
function refuseWhileReplacing(): void {
  if (isReplacing()) throw new PlatformError('RESTORE_INCOMPLETE', { path: path.join(places.data, 'cloud') });
}

/** Waits until the unit has ended a switch in progress; starts it where it does not run. */
export async function finishSwitch(say: Say): Promise<void> {
  for (let tries = 0; (await readSwitch()) !== undefined; tries++) {
    if (tries === 1) say('A switch to another version was interrupted. It goes on now …');
    if (tries > 60) throw new PlatformError('INSTALLATION_IN_USE', { pid: 0 });
    attempt('systemctl', 'reset-failed', units.switch);
    attempt('systemctl', 'start', units.switch);
    if ((await readSwitch()) !== undefined) await systemClock.sleep(1_000);
  }
}

/**
 * Returns to the version before.
 *
 * @param discard - the time that the refusal names: what was written since then is given up.
 * @throws PlatformError NO_VERSION_BEFORE, ROLLBACK_LOSES_DATA, SERVER_NOT_READY
 */
export async function rollback({
  discard,
  readyWithinS,
  say,
}: {
  discard: string | undefined;
  readyWithinS: number;
  say: Say;
}): Promise<string> {
  await finishSwitch(say);
  refuseWhileReplacing();
  const [current, previous] = [currentVersion(), await readPrevious()];
  if (
    current === undefined ||
    previous === undefined ||
    previous.version === current ||
    !existsSync(versionFolder(previous.version))
  )
    throw new PlatformError('NO_VERSION_BEFORE', { current: current ?? '' });
  const isReadable = schemaOf(previous.version) === schemaOf(current);
  const since = new Date(previous.switchedAt).toISOString();
  if (!isReadable && previous.snapshot === null)
    throw new PlatformError('NO_VERSION_BEFORE', {
      current,
      problem: `version ${previous.version} cannot read the database, which is not embedded: restore its backup first`,
    });
  if (!isReadable && discard !== since)
    throw new PlatformError('ROLLBACK_LOSES_DATA', { version: previous.version, since });
  const restore = isReadable ? null : previous.snapshot;
  await switchTo(previous.version, { from: current, restore, readyWithinS, say });
  return previous.version;
}
