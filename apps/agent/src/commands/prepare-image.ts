import path from 'node:path';
import { FolderLocked, lockFolder } from '@platform/kit/node';
import { markedProfiles } from '../composition/hand-over-networks.ts';
import { system } from '../composition/system.ts';
import { readChanges } from '../install/changes.ts';
import { imageProblem, planImage, prepareImage, type ImagePlan } from '../install/prepare-image.ts';
import type { Io } from './command.ts';
import { Ended, exitCodes } from './exit-codes.ts';
import type { OptionValues } from '@platform/kit/node';
import type { prepareOptions } from './option-tables.ts';

type Given = OptionValues<typeof prepareOptions>;

/** Makes a used root fit for an image: it forgets which machine it was, and keeps its programs. */
export async function prepare(given: Given, io: Io): Promise<number> {
  const root = path.resolve(given.root);
  const credentialsFile = (await readChanges(root))?.credentialsFile ?? path.resolve(given.config);
  const of = { ...given, root, credentialsFile, profiles: await profilesOf(root) };
  await using _lock = await lockFolder(path.join(root, 'state', 'agent.lock')).catch((error: unknown) => {
    throw running(error, root);
  });
  const problem = await imageProblem(of);
  if (problem !== undefined)
    throw new Ended(exitCodes.refused, {
      code: 'IMAGE_NOT_PREPARED',
      what: `The image would hold an unproven version: ${problem}. Nothing was removed.`,
      remedy: 'Start the agent, wait until `platform-agent status` shows no trial, stop it, and repeat the command.',
    });
  const plan = await planImage(of);
  if (!given.dryRun) {
    await prepareImage(plan);
    await system.run('sync');
  }
  io.out(given.json ? JSON.stringify(jsonOf(plan, given.dryRun)) : textOf(plan, root, given.dryRun));
  return plan.remove.length === 0 && !given.dryRun ? exitCodes.nothingToDo : exitCodes.done;
}

/** Files of the profiles that carry the mark of the agent, in the system that the root belongs to. */
async function profilesOf(root: string): Promise<string[]> {
  if (!root.endsWith(standardRoot)) return [];
  const prefix = root.slice(0, -standardRoot.length) || '/';
  const folder = path.join(prefix, 'etc/NetworkManager/system-connections');
  return (await markedProfiles(folder)).map((name) => path.join(folder, `${name}.nmconnection`));
}

const standardRoot = '/opt/platform';

function running(error: unknown, root: string): unknown {
  if (!(error instanceof FolderLocked)) return error;
  const process = error.pid === 0 ? '' : `, process ${error.pid}`;
  return new Ended(exitCodes.refused, {
    code: 'AGENT_RUNNING',
    what: `An agent runs for ${root}${process}: it would write again what is removed. Nothing was removed.`,
    remedy: 'Stop it, for example with `sudo systemctl stop platform-agent`, and repeat the command.',
  });
}

const jsonOf = ({ remove, keep, advice }: ImagePlan, isDry: boolean) => ({
  is_changed: !isDry && remove.length > 0,
  removed: remove.map(({ what, paths }) => ({ what, paths })),
  kept: keep,
  advice,
});

function textOf({ remove, keep, advice }: ImagePlan, root: string, isDry: boolean): string {
  const verb = isDry ? 'Would remove' : 'Removed';
  const isReady = !isDry && remove.length === 0;
  return [
    ...(isReady ? [`${root} was prepared already.`] : [`${verb}:`]),
    ...remove.map(({ what, paths }) => `  - ${what}: ${shown(paths)}`),
    'Kept:',
    ...keep.map((what) => `  - ${what}`),
    ...advice.map((text) => `NOTE: ${text}`),
    ...(isDry ? [] : ['Create the image before the agent starts again.']),
  ].join('\n');
}

const shown = (paths: readonly string[]): string =>
  paths.length > 3 ? `${paths.slice(0, 3).join(', ')} and ${paths.length - 3} more` : paths.join(', ');
