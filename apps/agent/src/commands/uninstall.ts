import { access, constants, stat } from 'node:fs/promises';
import path from 'node:path';
import { errorText } from '@platform/kit';
import { runFolder } from '@platform/kit/node';
import { AgentSilent, controlOf, NoAgentRuns } from '../control/client.ts';
import { readChanges } from '../install/changes.ts';
import { adminUnits } from '../install/desired.ts';
import { sayGoodbye } from '../install/goodbye.ts';
import { removeAll, type Removed } from '../install/remove.ts';
import { installedNetworks, type InstalledNetworks } from '../composition/hand-over-networks.ts';
import { fileDisk } from '../os/file-disk.ts';
import { system } from '../composition/system.ts';
import { readMoved, restoredText, restoreOtherAgent, standardRoot, unknownText } from '../take-over/moved.ts';
import { otherUnit } from '../take-over/other-agent.ts';
import { startFileIn } from '../take-over/guard.ts';
import { settlePackageFiles } from '../system/package-files.ts';
import { installedPackages } from '../system/installed-packages.ts';
import type { Io } from './command.ts';
import { Ended, exitCodes } from './exit-codes.ts';
import { sessionLink } from './session-address.ts';
import type { OptionValues } from '@platform/kit/node';
import type { uninstallOptions } from './option-tables.ts';

type Given = OptionValues<typeof uninstallOptions>;

const isThere = (file: string): Promise<boolean> =>
  stat(file).then(
    () => true,
    () => false,
  );

export async function uninstall(given: Given, io: Io): Promise<number> {
  const root = path.resolve(given.root);
  if (process.platform === 'win32') {
    if (!given.yes) await agreed(root, given.keepCredentials ? undefined : path.resolve(given.config), '', io);
    return (await import('./windows-install.ts')).uninstallHere(given, io);
  }
  const changes = await readChanges(root);
  const credentialsFile = changes?.credentialsFile ?? path.resolve(given.config);
  if (!changes && !(await isThere(path.join(root, 'versions')))) {
    const nothing = `platform-agent is not installed in ${root}.`;
    io.out(given.json ? JSON.stringify({ is_changed: false, done: [], left: [] }) : nothing);
    return exitCodes.nothingToDo;
  }
  await access(root, constants.W_OK); // fail first: a user without write access would remove only a part
  const usesSystemd = await isThere('/run/systemd/system');
  await refuseWhileRunning(root, usesSystemd && changes !== undefined, io);
  await using networks = await installedNetworks(root, io.clock);
  const warning = given.networks && networks ? await networkWarning(networks, given.yes, io) : '';
  if (given.yes && warning !== '') io.note(warning);
  if (!given.yes) await agreed(root, given.keepCredentials ? undefined : credentialsFile, warning, io);
  process.on('SIGHUP', () => {}); // the session of this command may end with its network

  const otherRoot = (await readMoved(root))?.root ?? standardRoot;
  const removed = await removeAll(
    {
      root,
      credentialsFile: given.keepCredentials ? undefined : credentialsFile,
      usesSystemd,
      sayGoodbye: () => sayGoodbye({ root, credentialsFile }, { system, clock: io.clock }),
      packages: () => installedPackages(fileDisk(system.files(root)), system),
      settlePackages: () => settlePackageFiles({ disk: fileDisk(system.files(root)), programs: system, prefix: '' }),
      handOverNetworks: networks && (() => networks.handOver(given.networks)),
    },
    system,
  );
  const isOtherBack = await putOtherBack(otherRoot, changes ? path.dirname(changes.unitFile) : adminUnits, removed);
  if (isOtherBack && usesSystemd) await system.run('systemctl', 'daemon-reload');
  report(removed, given.json, io);
  if (isOtherBack && !given.json) io.out(`${otherUnit} stays disabled. Start it: systemctl enable --now ${otherUnit}`);
  return removed.left.length === 0 ? exitCodes.done : exitCodes.failed;
}

/** Otherwise the other agent's service would install platform-agent again. @returns whether it was restored */
async function putOtherBack(otherRoot: string, unitFolder: string, { done, left }: Removed): Promise<boolean> {
  try {
    const restored = await restoreOtherAgent(otherRoot, { unitFolder, startFile: startFileIn(runFolder) });
    if (restored.is === 'restored') done.push(restoredText(restored));
    if (restored.is === 'unknown') left.push(unknownText(restored.link));
    return restored.is === 'restored';
  } catch (error) {
    left.push(`not restored the agent of another product: ${errorText(error)}`);
    return false;
  }
}

function report({ done, left, leftNetworks, leftPackages, isServerNotified }: Removed, isJson: boolean, io: Io): void {
  if (isJson) {
    const also = { left_networks: leftNetworks, left_packages: leftPackages };
    const all = { is_changed: done.length > 0, done, left, ...also };
    return io.out(JSON.stringify({ ...all, is_server_told: isServerNotified }));
  }
  for (const line of done) io.out(`  ${line}`);
  for (const line of left) io.note(line);
  if (!isServerNotified) io.note(serverNotNotified);
  if (leftNetworks.length > 0) io.out(`Left to the system: the networks ${leftNetworks.join(', ')}.`);
  if (leftPackages.length > 0) io.out(`Left installed: the package ${leftPackages.join(', ')}. Remove it with apt.`);
  io.out(
    left.length === 0
      ? 'platform-agent is uninstalled. Its lines in the journal are kept.'
      : 'Not everything was removed; see above.',
  );
}

/**
 * What `--networks` ends; empty: nothing.
 *
 * @throws Ended if it ends the link of this session, without `--yes`
 */
async function networkWarning(networks: InstalledNetworks, isYes: boolean, io: Io): Promise<string> {
  const { names, links } = networks.removable();
  if (names.length === 0) return '';
  const own = await sessionLink(links, io.env);
  if (own && !isYes) {
    throw new Ended(exitCodes.refused, {
      code: 'NOT_CONFIRMED',
      what: `This session comes over the network ${own.ssid || own.interface}, which --networks removes.`,
      remedy: 'Use --yes. Afterwards the machine is reachable over other networks only.',
    });
  }
  const all = `The networks ${names.join(', ')} are removed.`;
  if (links.length === 0) return all;
  const used = links.map(({ ssid, interface: name }) => ssid || name);
  return `${all} This machine is connected by ${used.join(', ')} now and loses that link.`;
}

export const serverNotNotified =
  'The management server could not be notified: the app shows this machine as offline until it is deleted there.';

/** An agent that systemd does not stop would create its folders again. */
async function refuseWhileRunning(root: string, isStoppedBySystemd: boolean, io: Io): Promise<void> {
  const status = await controlOf(root, io.clock)
    .status()
    .catch((error: unknown) => {
      if (error instanceof NoAgentRuns || error instanceof AgentSilent) return undefined;
      throw error;
    });
  if (!status || (isStoppedBySystemd && status.agent.is_supervised_by_systemd)) return;
  throw new Ended(exitCodes.refused, {
    code: 'AGENT_RUNNING',
    what: `An agent that systemd does not know of runs for ${root}, process ${status.agent.pid}.`,
    remedy: 'Stop it first.',
  });
}

async function agreed(root: string, credentialsFile: string | undefined, warning: string, io: Io): Promise<void> {
  const also = credentialsFile === undefined ? '' : `, and its credentials ${credentialsFile}`;
  const first = warning === '' ? '' : `${warning}\n`;
  const question = `${first}Remove platform-agent, the machine server with its data in ${root}${also}? [y/N] `;
  const answer = await io.ask(question);
  if (answer !== undefined && /^y(es)?$/i.test(answer.trim())) return;
  throw new Ended(exitCodes.refused, {
    code: 'NOT_CONFIRMED',
    what: answer === undefined ? 'Confirmation is required, but there is no terminal.' : 'Nothing was removed.',
    remedy: answer === undefined ? 'Use --yes.' : '',
  });
}
