import { unusableProxies, unusableText } from '@platform/kit/node';
import path from 'node:path';
import { agentUnit, unitEnvironmentFile, unitText } from './unit.ts';
import { gateText } from '../versions/gate.ts';
import { gatePath } from '../versions/layout.ts';
import type { Places } from './look.ts';
import type { DesiredInstallation } from './install-plan.ts';
import { proxiesOf } from './proxies.ts';

/** Folder of the units of the administrator. */
export const adminUnits = '/etc/systemd/system';
const unitFolders = ['/usr/lib/systemd/system', '/lib/systemd/system', '/usr/local/lib/systemd/system', adminUnits];

/** The desired installation according to the command line, before the machine is inspected. */
export function desiredInstallation(
  given: {
    root: string;
    config: string;
    unitFolder: string | undefined;
    linkFolder: string;
    binary: string | undefined;
    noStart: boolean;
    force: boolean;
    noCredentials: boolean;
    replace: boolean;
  },
  env: Readonly<Record<string, string | undefined>>,
): { desired: DesiredInstallation; places: Places } {
  const root = path.resolve(given.root);
  const credentialsFile = path.resolve(given.config);
  const unitFile = path.join(path.resolve(given.unitFolder ?? adminUnits), agentUnit);
  const at = (name: string) => path.join(root, name);
  const desired: DesiredInstallation = {
    root,
    credentialsFile,
    credentials: undefined,
    unitFile,
    unitText: unitText({ root, credentialsFile }),
    gateFile: at(gatePath),
    gateText,
    environmentFile: at(unitEnvironmentFile),
    environmentText: proxiesOf(env),
    unusableProxies: unusableProxies(env).map(unusableText),
    linkFile: path.join(path.resolve(given.linkFolder), 'platform-agent'),
    linkTarget: at('bin/platform-agent'),
    isStarted: !given.noStart,
    usesSystemd: given.unitFolder === undefined,
    isForced: given.force,
    needsCredentials: !given.noCredentials,
    isReplacing: given.replace,
  };
  const places: Places = {
    root,
    credentialsFile,
    unitFile,
    unitFolders: given.unitFolder === undefined ? unitFolders : [path.resolve(given.unitFolder)],
    files: [credentialsFile, unitFile, desired.gateFile, desired.environmentFile, desired.linkFile],
    binary: path.resolve(given.binary ?? process.execPath),
  };
  return { desired, places };
}
