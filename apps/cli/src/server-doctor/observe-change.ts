import { units } from '../installation/places.ts';
import { isReplacing, readSwitch } from '../installation/state.ts';
import { attempt } from '../installation/system.ts';
import type { ChangeSeen, FoundServer } from './observations.ts';

/** What stops the server of an installation on purpose. Only root may read which versions it is between. */
export async function observeChange({ isInstalled }: FoundServer): Promise<ChangeSeen | undefined> {
  if (!isInstalled) return undefined;
  const isRunning = attempt('systemctl', 'show', '-P', 'ActiveState', units.switch).text === 'activating';
  const found = await readSwitch().catch(() => undefined);
  if (found)
    return { what: `the switch from ${found.from ?? 'nothing'} to ${found.to} (stage ${found.stage})`, isRunning };
  if (isReplacing()) return { what: 'the exchange of the data for restored ones', isRunning };
  return isRunning ? { what: 'a switch to another version', isRunning } : undefined;
}
