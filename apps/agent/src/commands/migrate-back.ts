import { stat } from 'node:fs/promises';
import path from 'node:path';
import { system } from '../composition/system.ts';
import { agentUnit } from '../install/unit.ts';
import { stopOwnServices } from '../take-over/beside.ts';
import { startFileIn } from '../take-over/guard.ts';
import { readMoved, restoredText, restoreOtherAgent, standardRoot, unknownText } from '../take-over/moved.ts';
import { otherUnit } from '../take-over/other-agent.ts';
import type { Io } from './command.ts';
import { Ended, exitCodes } from './exit-codes.ts';
import type { MigrateBackOptions } from './take-over-options.ts';

/** Undoes a migration: the agent of the other product runs this machine again. */
export async function migrateBack(given: MigrateBackOptions, io: Io): Promise<number> {
  const root = path.resolve(given.root);
  const otherRoot = given.viamDir ?? (await readMoved(root))?.root ?? standardRoot;
  if (!(await isThere(otherRoot))) {
    throw new Ended(exitCodes.refused, {
      code: 'NO_OTHER_AGENT',
      what: `There is no agent of another product in ${otherRoot}.`,
      remedy: 'Pass its folder with --viam-dir.',
    });
  }
  const hasSystemd = await isThere('/run/systemd/system');
  if (!given.yes) await confirm(otherRoot, io);
  const places = { unitFolder: given.unitFolder, startFile: startFileIn(given.memoryFolder) };
  const restored = await restoreOtherAgent(otherRoot, places);
  if (restored.is === 'unknown') {
    const [what = '', remedy = ''] = unknownText(restored.link).split('. ');
    throw new Ended(exitCodes.failed, { code: 'NO_WAY_BACK', what: `${what}.`, remedy: `${remedy}.` });
  }
  if (restored.is === 'restored') io.out(`  ${restoredText(restored)}`);
  if (!hasSystemd) {
    io.out('systemd does not run here: restart what starts the other agent. Then it runs instead of platform-agent.');
    return exitCodes.done;
  }
  await switchServices(io);
  return exitCodes.done;
}

/** @throws Ended if the other agent does not start; then ours runs again */
async function switchServices(io: Io): Promise<void> {
  await system.run('systemctl', 'daemon-reload');
  await stopOwnServices(system);
  io.out('  stopped and disabled platform-agent and its machine server');
  const { code, text } = await system.run('systemctl', 'enable', '--now', otherUnit);
  if (code !== 0) {
    await system.run('systemctl', 'disable', '--now', otherUnit);
    await system.run('systemctl', 'enable', '--now', agentUnit);
    throw new Ended(exitCodes.failed, {
      code: 'OTHER_AGENT_NOT_STARTED',
      what: `${otherUnit} did not start, so platform-agent runs again: ${text || `systemctl ended with ${code}`}.`,
      remedy: `See: journalctl -u ${otherUnit}`,
    });
  }
  io.out(`  started ${otherUnit}`);
  io.out('platform-agent stays installed and does not run. Remove it: platform-agent uninstall');
}

async function confirm(otherRoot: string, io: Io): Promise<void> {
  const answer = await io.ask(`Stop platform-agent and start the agent of another product in ${otherRoot}? [y/N] `);
  if (answer !== undefined && /^y(es)?$/i.test(answer.trim())) return;
  throw new Ended(exitCodes.refused, {
    code: 'NOT_CONFIRMED',
    what: answer === undefined ? 'Confirmation is required, but there is no terminal.' : 'Nothing was changed.',
    remedy: answer === undefined ? 'Use --yes.' : '',
  });
}

const isThere = (file: string): Promise<boolean> =>
  stat(file).then(
    () => true,
    () => false,
  );
