// Files of NetworkManager that the agent writes; ManagedFiles records what stood there before.
import type { ManagedFiles, RestoredFile } from '../../managed-files.ts';
import type { Peer } from '../dbus/bus.ts';
import { devicePaths, managerName, managerPath } from './objects.ts';
import type { NetworkManagerObserver } from './observer.ts';

interface FileParts {
  manager: Peer;
  observer: NetworkManagerObserver;
  files: ManagedFiles;
}

const folder = '/etc/NetworkManager/';
const powerSaveFile = `${folder}conf.d/81-platform-wifi-powersave.conf`;
const powerSave = { off: 2, on: 3 } as const;
/** Reads the configuration files again. */
const reloadConfiguration = 1;

export async function setPowerSave(isOn: boolean | null, parts: FileParts): Promise<void> {
  const text = `# Written by platform-agent.\n[connection]\nwifi.powersave = ${isOn === true ? powerSave.on : powerSave.off}\n`;
  const { files } = parts;
  const isChanged =
    isOn === null ? (await files.restore(powerSaveFile)) === 'restored' : await files.write(powerSaveFile, text);
  if (isChanged) await applyPowerSave(parts);
}

async function applyPowerSave({ manager, observer }: FileParts): Promise<void> {
  const ofManager = { path: managerPath, interface: managerName };
  await manager.call({ ...ofManager, member: 'Reload', signature: 'u', args: [reloadConfiguration] });
  const paths = devicePaths(await observer.observe());
  for (const { interface: name, type, isHotspot, profile } of observer.state.get().devices) {
    const record = observer.records().find(({ saved }) => saved.uuid === profile);
    if (type !== 'wifi' || isHotspot || !record) continue;
    // Only an activation applies it.
    await manager.call({
      ...ofManager,
      member: 'ActivateConnection',
      signature: 'ooo',
      args: [record.path, paths.get(name) ?? '/', '/'],
    });
  }
}

/** Restores what stood there before this agent, and has NetworkManager use it. */
export async function restoreFiles(parts: FileParts): Promise<readonly RestoredFile[]> {
  const { files, observer } = parts;
  const restored: RestoredFile[] = [];
  for (const file of await files.written()) {
    if (!file.startsWith(folder)) continue;
    const result = await files.restore(file);
    if (result !== 'not-managed') restored.push({ file, isRestored: result === 'restored' });
  }
  const isChanged = restored.some(({ file, isRestored }) => file === powerSaveFile && isRestored);
  if (isChanged && observer.state.get().manager === 'ready') await applyPowerSave(parts);
  return restored;
}
