import { readFile, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { parseCredentials } from '@platform/contract/machine';
import { createLog, errorText, type Log } from '@platform/kit';
import { atomicWrite, onSignals, readText, stderrSink } from '@platform/kit/node';
import { system } from '../composition/system.ts';
import { awaitAgent } from '../install/wait.ts';
import { standardDefaults } from './run-options.ts';
import { takeOverBeside } from '../take-over/beside.ts';
import { findOtherAgent, guard, putBack, removeGuard, type OtherAgent } from '../take-over/other-agent.ts';
import type { TakeOverOptions } from './take-over-options.ts';
import { reportFailure } from '../take-over/report.ts';
import { version } from '../versions/version.ts';
import type { Io } from './command.ts';
import { exitCodes } from './exit-codes.ts';

/**
 * Runs in place of another product's agent, as its update. Replaces that agent. On a failure, restores it and reports
 * the reason to the management server.
 */
export async function takeOver(given: TakeOverOptions, io: Io): Promise<number> {
  const { clock } = io;
  const sink = stderrSink('text');
  const log = createLog({ name: 'agent.take-over', clock, level: given.debug ? 'debug' : 'info', sink });
  const other = await findOtherAgent(await realpath(process.execPath), given.viamDir);
  const hasSystemd = await isThere('/run/systemd/system');
  if (given.install) {
    const isGuarded = await guard(other, given.unitFolder);
    if (!isGuarded)
      log.warn('nothing names the program that ran before: there is no way back to it', { root: other.root });
    if (isGuarded && hasSystemd) await system.run('systemctl', 'daemon-reload');
    return exitCodes.done;
  }
  log.info('taking over from the agent of another product', { version, root: other.root, config: given.config });
  let credentials = '';
  try {
    credentials = await readText(given.config);
    await copyPlaces(given, credentials);
    const finished = () => removeGuard(other.root, given.unitFolder);
    return hasSystemd ? await beside(given, io, finished) : await inPlace(given, io, finished, log);
  } catch (error) {
    return goBack({ other, credentials, problem: errorText(error), log }, io);
  }
}

/** Copies credentials and defaults of the other agent to our paths. Our own defaults stay. */
async function copyPlaces({ ownConfig, defaults }: TakeOverOptions, credentials: string): Promise<void> {
  const parsed = parseCredentials(credentials);
  if (!parsed.ok) throw new Error(`the credentials of the other agent cannot be used: ${parsed.problem}`);
  const own = await readText(ownConfig).catch(() => undefined);
  const known = own === undefined ? undefined : parseCredentials(own);
  if (known?.ok && known.value.partId !== parsed.value.partId)
    throw new Error(`${ownConfig} holds the credentials of another machine, part ${known.value.partId}`);
  await atomicWrite(ownConfig, credentials, { mode: 0o600 });
  if ((await isThere(standardDefaults)) || !(await isThere(defaults))) return;
  await atomicWrite(standardDefaults, await readFile(defaults), { mode: 0o644 });
}

async function beside(given: TakeOverOptions, io: Io, finished: () => Promise<void>): Promise<number> {
  const root = path.resolve(given.root);
  const notes: string[] = [];
  const { install } = await import('./install.ts');
  const { installOptions } = await import('./install-options.ts');
  await takeOverBeside(
    {
      async install() {
        const words = { url: undefined, partId: undefined, apiKeyId: undefined, apiKey: undefined, binary: undefined };
        const flags = { noStart: false, dryRun: false, force: false, replace: false, offline: false };
        const code = await install(
          {
            ...words,
            ...flags,
            config: given.ownConfig,
            root,
            unitFolder: undefined,
            linkFolder: installOptions.linkFolder.default,
            trustedRoot: undefined,
            authority: undefined,
            noCredentials: false,
            unsigned: false,
            json: false,
            leavesOthers: true,
          },
          { ...io, note: (text) => void notes.push(text) },
        );
        if (code !== exitCodes.done) throw new Error(notes.join(' ') || `the installation ended with ${code}`);
      },
      async isReached() {
        const { isReached } = await awaitAgent({ root, version, isOnline: true }, { system, clock: io.clock });
        if (isReached) await finished();
        return isReached;
      },
      system,
      clock: io.clock,
    },
    onSignals(),
  );
  return exitCodes.done;
}

/** Without systemd, an unknown process starts the other agent. From now on, it starts our supervisor. */
async function inPlace(given: TakeOverOptions, io: Io, finished: () => Promise<void>, log: Log): Promise<number> {
  const { supervise } = await import('./supervise.ts');
  const root = path.resolve(given.root);
  void awaitAgent({ root, version, isOnline: true }, { system, clock: io.clock })
    .then(({ isReached }) => (isReached ? finished() : undefined))
    .catch((error: unknown) => log.warn('the guard could not be taken away', { error }));
  return supervise({ config: given.ownConfig, root }, io);
}

async function goBack(
  { other, credentials, problem, log }: { other: OtherAgent; credentials: string; problem: string; log: Log },
  { clock }: Io,
): Promise<number> {
  log.error('taking over failed: the other agent is put back', { problem });
  // Report first: while the update is offered, the other agent would fetch this program again.
  const { root } = other;
  await reportFailure({ credentialsText: credentials, problem, root }, { system, clock }).catch((error: unknown) =>
    log.warn('the management server could not be notified', { error }),
  );
  try {
    await putBack(other);
    return exitCodes.done;
  } catch (error) {
    log.error('the other agent could not be put back', { error });
    return exitCodes.failed;
  }
}

const isThere = (file: string): Promise<boolean> =>
  stat(file).then(
    () => true,
    () => false,
  );
