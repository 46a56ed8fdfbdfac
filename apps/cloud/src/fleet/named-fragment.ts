import { PlatformError } from '@platform/contract/errors/errors';
import { fragmentText } from '@platform/contract/provisioning/set-up-code';
import type { Log } from '@platform/kit';
import { ownsMachine } from '../access/rules/permissions.ts';
import { callerFor, type Maker } from '../access/store/makers.ts';
import { saveConfig } from '../configs/config-saving.ts';
import { readableFragment } from '../fragments/fragment-access.ts';
import { findPart } from '../machines/store/machines.ts';

/** What became of the fragment that a device named; `problem` empty: its machine has started with it. */
export type NamedFragment = { fragmentId: string; fragmentProblem: string };

export const noFragment: NamedFragment = { fragmentId: '', fragmentProblem: '' };

/**
 * Puts the fragment that a device names into the configuration of its machine, if it has none yet. The device has proved
 * that it was given a code or a key; the rights are those of who made it, as they are now. A failure never keeps a
 * device from its credentials.
 *
 * @param of - `named`: what the device sent; empty: it names none. `isFirst`: it did not use its code or key before.
 */
export async function startWithFragment(
  deps: Parameters<typeof saveConfig>[0] & { log: Log },
  partId: string,
  { named, madeBy, isFirst }: { named: string; madeBy: Maker | null; isFirst: boolean },
): Promise<NamedFragment> {
  if (!fragmentText.test(named)) return noFragment;
  const fragmentId = named.toLowerCase();
  const refused = (fragmentProblem: string): NamedFragment => ({ fragmentId, fragmentProblem });
  const [part, caller] = await Promise.all([findPart(deps.db, partId), callerFor(deps.db, madeBy)]);
  if (!part) return noFragment;
  // A repeated request does not know that the one before has set it.
  if (part.revision > 0)
    return isFirst ? refused('The machine has a configuration already, and keeps it.') : noFragment;
  if (!caller || !ownsMachine(caller, part))
    return refused('Who added the device may no longer configure this machine.');
  try {
    await readableFragment(deps.db, caller, fragmentId);
    const text = JSON.stringify({ fragments: [fragmentId] }, null, 2);
    const comment = 'The device named this fragment when it was set up.';
    await saveConfig(deps, caller, part, { text, comment }, { revision: 0 });
    return refused('');
  } catch (error) {
    if (error instanceof PlatformError) return refused(error.what);
    deps.log.error('the fragment that a device names is not saved', { error });
    return refused('The server could not save it.');
  }
}
