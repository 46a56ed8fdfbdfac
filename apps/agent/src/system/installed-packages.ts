// Which packages this agent has installed: they stay when it leaves.
import type { Disk, Programs } from '../os/ports.ts';
import { readChecked, writeChecked } from '../storage/checked-file.ts';

const stateFile = 'state/installed-packages.json';
const upgrader = 'unattended-upgrades';

export async function isUpgraderInstalled(programs: Programs): Promise<boolean> {
  const { code, text } = await programs.run('dpkg-query', '-W', '-f=${Status}', upgrader);
  return code === 0 && text.includes('install ok installed');
}

/** Call it before the installation: after a power cut in the middle, the agent has installed the package, too. */
export const recordUpgrader = (disk: Disk): Promise<void> => writeChecked(disk, stateFile, { packages: [upgrader] });

/** Also if a user has removed it since. */
export async function hasInstalledUpgrader(disk: Disk): Promise<boolean> {
  const { value: packages = [] } = await readChecked(disk, stateFile, packagesOf);
  return packages.includes(upgrader);
}

/** Packages that this agent has installed and that still are. */
export async function installedPackages(disk: Disk, programs: Programs): Promise<readonly string[]> {
  return (await hasInstalledUpgrader(disk)) && (await isUpgraderInstalled(programs)) ? [upgrader] : [];
}

function packagesOf(value: unknown): readonly unknown[] {
  const { packages } = value as { packages?: unknown };
  if (!Array.isArray(packages)) throw new Error('it names no packages');
  return packages;
}
