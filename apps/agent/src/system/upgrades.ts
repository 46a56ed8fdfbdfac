import { PlatformError } from '@platform/contract/errors/errors';
import { clearCondition, setCondition } from '../health/condition-set.ts';
import { forgetChecked, readChecked, writeChecked } from '../storage/checked-file.ts';
import { aptGoals, differenceOf, type UpgradeType } from './apt-files.ts';
import { readPolicy, selectOrigins } from './apt-policy.ts';
import { runPackages } from './run-packages.ts';
import { isUpgraderInstalled, recordUpgrader } from './installed-packages.ts';
import { settlePackageFiles } from './package-files.ts';
import { applyFiles } from './system-files.ts';
import type { SystemGoal } from './system-goal.ts';
import type { SystemParts } from './system-parts.ts';

const stateFile = 'state/os-upgrades.json';
const laterCode = 'OS_REPOSITORIES_NOT_INCLUDED';
const timers = ['apt-daily.timer', 'apt-daily-upgrade.timer'];

/** What was decided when the value was set or changed. */
interface Chosen {
  type: UpgradeType;
  /** Patterns of the repositories that were present then. */
  origins: readonly string[];
}

/** Brings the automatic upgrades of the operating system to the goal. */
export async function applyUpgrades(
  { system, isPreliminary, isDisabled }: SystemGoal,
  parts: SystemParts,
  signal: AbortSignal,
): Promise<void> {
  const type = system?.upgradeType ?? '';
  const { value: before } = await readChecked(parts.disk, stateFile, chosenOf);
  if (isPreliminary && (before !== undefined || type === '')) return;
  if (type === '') return leaveUpgrades(before, parts, { isReported: isDisabled });
  if ((await parts.programs.run('apt-get', '--version')).code !== 0) throw new PlatformError('OS_UPGRADES_UNSUPPORTED');
  const origins = before?.type === type ? before.origins : await chooseOrigins(type, before, parts, signal);
  if (signal.aborted) return;
  await applyFiles(aptGoals(type, origins), parts);
  await writeChecked(parts.disk, stateFile, { type, origins } satisfies Chosen);
  if (type !== 'disable' && !(await isUpgraderInstalled(parts.programs))) {
    await recordUpgrader(parts.disk);
    await runPackages('install unattended-upgrades', parts, signal);
    if (signal.aborted) return;
    await applyFiles(aptGoals(type, origins), parts); // in case the package brought its own files
  }
  await checkEffect(type, origins, parts);
  await reportLater(type, origins, parts);
}

async function leaveUpgrades(
  before: Chosen | undefined,
  parts: SystemParts,
  { isReported = false } = {},
): Promise<void> {
  clearCondition(parts.conditions, laterCode);
  await applyFiles(aptGoals('', []), parts, { isReported });
  if (!before) return;
  const settled = await settlePackageFiles(parts);
  if (settled.length > 0) parts.log.info('files of a package are settled', { files: settled.join(' ') });
  await forgetChecked(parts.disk, stateFile);
}

/** @throws PlatformError if no repository of the type is present; nothing is written then */
async function chooseOrigins(
  type: UpgradeType,
  before: Chosen | undefined,
  parts: SystemParts,
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (type === 'disable') return [];
  let problem: unknown;
  await runPackages('update the package lists', parts, signal).catch((error: unknown) => (problem = error));
  const origins = selectOrigins(type, readPolicy(await policy(parts)));
  if (origins.length > 0) {
    if (problem !== undefined) parts.log.warn('not all package lists could be updated', { problem });
    return origins;
  }
  // The files of an earlier value would go on upgrading by that value.
  if (before) await leaveUpgrades(before, parts);
  throw problem instanceof Error ? problem : new PlatformError('OS_UPGRADES_NO_ORIGIN', { type });
}

async function policy({ programs }: SystemParts): Promise<string> {
  const { code, text } = await programs.run('apt-cache', 'policy');
  if (code !== 0) throw new Error(`apt-cache policy failed: ${text.slice(-300)}`);
  return text;
}

/** Another file of apt, or a timer that is off, can prevent what the files ask for. */
async function checkEffect(type: UpgradeType, origins: readonly string[], { programs }: SystemParts): Promise<void> {
  const { code, text } = await programs.run('apt-config', 'dump');
  if (code !== 0) throw new Error(`apt-config dump failed: ${text.slice(-300)}`);
  let difference = differenceOf(type, origins, text);
  for (const timer of type === 'disable' ? [] : timers) {
    const { text: state } = await programs.run('systemctl', 'is-active', timer);
    if (state.trim() !== 'active') difference ||= `${timer} is ${state.trim() || 'missing'}`;
  }
  if (difference !== '') throw new PlatformError('OS_UPGRADES_OVERRIDDEN', { difference });
}

/** Names repositories that were added after the value was set: upgrades do not use them. */
async function reportLater(type: UpgradeType, origins: readonly string[], parts: SystemParts): Promise<void> {
  const { conditions } = parts;
  const now = type === 'disable' ? [] : selectOrigins(type, readPolicy(await policy(parts)));
  const later = now.filter((origin) => !origins.includes(origin));
  if (later.length === 0) return clearCondition(conditions, laterCode);
  const repositories = later.slice(0, 5).join('; ');
  setCondition(conditions, laterCode, { repositories }, { sinceWall: parts.clock.wall() });
}

function chosenOf(value: unknown): Chosen {
  const { type, origins } = value as Partial<Chosen>;
  const isType = type === 'all' || type === 'security' || type === 'disable';
  if (!isType || !Array.isArray(origins)) throw new Error('it names no upgrades');
  return { type, origins: origins.map(String) };
}
