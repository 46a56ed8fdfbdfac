import { readFile, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { parseCredentials } from '@platform/contract/machine-server/machine-server';
import { createLog, errorText, type Log } from '@platform/kit';
import { atomicWrite, onSignals, readText, stderrSink } from '@platform/kit/node';
import { system } from '../composition/system.ts';
import { agentUnit } from '../install/unit.ts';
import { awaitAgent } from '../install/wait.ts';
import { standardDefaults } from './run-options.ts';
import { takeOverBeside } from '../take-over/beside.ts';
import { decide, decideAlone, type StartFacts } from '../take-over/decision.ts';
import * as guard from '../take-over/guard.ts';
import { readMoved, writeMoved } from '../take-over/moved.ts';
import { findOtherAgent, putBack, type OtherAgent } from '../take-over/other-agent.ts';
import type { TakeOverOptions } from './take-over-options.ts';
import { askRequest, reportFailure } from '../take-over/migration-report.ts';
import { version } from '../versions/own-version.ts';
import type { Io } from './command.ts';
import { exitCodes } from './exit-codes.ts';

interface Run {
  given: TakeOverOptions;
  io: Io;
  log: Log;
  other: OtherAgent;
  places: guard.GuardPlaces;
  hasSystemd: boolean;
}

/**
 * Runs in place of another product's agent, as its update. Replaces that agent. On a failure, or if no user
 * requested it, restores it; reports a failure to the management server.
 */
export async function takeOver(given: TakeOverOptions, io: Io): Promise<number> {
  const sink = stderrSink('text');
  const log = createLog({ name: 'agent.take-over', clock: io.clock, level: given.debug ? 'debug' : 'info', sink });
  const other = await findOtherAgent(await realpath(process.execPath), given.viamDir);
  const { unitFolder, memoryFolder } = given;
  const places = { root: other.root, unitFolder, startFile: guard.startFileIn(memoryFolder) };
  const run: Run = { given, io, log, other, places, hasSystemd: await isThere('/run/systemd/system') };
  return given.install ? prepare(run) : start(run);
}

/** The other agent's update runs this once, before its service starts this program. */
async function prepare(run: Run): Promise<number> {
  const { given, log, other, places, hasSystemd } = run;
  const isGuarded = await guard.installGuard(other, version, places);
  if (!isGuarded)
    log.warn('nothing names the program that ran before: there is no way back to it', { root: other.root });
  if (isGuarded && hasSystemd) await system.run('systemctl', 'daemon-reload');
  if ((await guard.readGivenUp(other.root)) !== version) return exitCodes.done;
  // The guard could not report it. The request ends with this report, so the start that follows gives the machine back.
  const problem = `version ${version} ended ${guard.mostFailures} times before it could take over`;
  const credentialsText = await readText(given.config).catch(() => '');
  await report(run, credentialsText, problem);
  await guard.forgetGivenUp(other.root);
  return exitCodes.done;
}

async function start(run: Run): Promise<number> {
  const { given, log, other } = run;
  const stop = onSignals();
  // Also if the process is killed later: a requested stop does not count as a failure.
  stop.addEventListener('abort', () => void guard.noteRequestedStop(run.places));
  const credentials = await readText(given.config).catch(() => '');
  const decision = await decideStart(run, credentials);
  if (decision === 'refuse') {
    log.warn('no migration to platform-agent is requested: the other agent is put back', { root: other.root });
    return restore(run);
  }
  log.info('taking over from the agent of another product', { version, root: other.root, config: given.config });
  try {
    await copyPlaces(run, await readText(given.config));
    return run.hasSystemd ? await beside(run, stop) : await inPlace(run);
  } catch (error) {
    return goBack(run, credentials, errorText(error));
  } finally {
    if (stop.aborted) await guard.noteRequestedStop(run.places);
  }
}

async function decideStart({ given, io, log, other, hasSystemd }: Run, credentialsText: string) {
  const root = path.resolve(given.root);
  const facts: StartFacts = {
    hasSystemd,
    runsInPlace: (await readMoved(root))?.isInPlace === true,
    isPrepared: await guard.hasGuard(other.root),
    isOwnEnabled: hasSystemd && (await system.run('systemctl', 'is-enabled', '--quiet', agentUnit)).code === 0,
  };
  const alone = decideAlone(facts);
  if (alone) return alone;
  const of = { credentialsText, root, running: other.previous?.version ?? '' };
  const request = await askRequest(of, { system, clock: io.clock }).catch((error: unknown) => {
    log.warn('the management server could not be asked whether a migration is requested', { error });
    return 'unknown' as const;
  });
  return decide(facts, request);
}

/** Copies credentials and defaults of the other agent to our paths. Our own defaults stay. */
async function copyPlaces({ given, other }: Run, credentials: string): Promise<void> {
  const { ownConfig, defaults } = given;
  const parsed = parseCredentials(credentials);
  if (!parsed.ok) throw new Error(`the credentials of the other agent cannot be used: ${parsed.problem}`);
  const own = await readText(ownConfig).catch(() => undefined);
  const known = own === undefined ? undefined : parseCredentials(own);
  if (known?.ok && known.value.partId !== parsed.value.partId)
    throw new Error(`${ownConfig} holds the credentials of another machine, part ${known.value.partId}`);
  if (own === undefined) await guard.recordCreated(other.root, ownConfig);
  await atomicWrite(ownConfig, credentials, { mode: 0o600 });
  if ((await isThere(standardDefaults)) || !(await isThere(defaults))) return;
  await guard.recordCreated(other.root, standardDefaults);
  await atomicWrite(standardDefaults, await readFile(defaults), { mode: 0o644 });
}

async function beside(run: Run, stop: AbortSignal): Promise<number> {
  const { given, io, log, other, places } = run;
  const root = path.resolve(given.root);
  await takeOverBeside(
    {
      install: () => installBeside(given, io),
      isReached: async () =>
        (await awaitAgent({ root, version, isOnline: true }, { system, clock: io.clock })).isReached,
      async finish() {
        await writeMoved(root, { root: other.root, isInPlace: false });
        // Whoever enables its service again gets the other agent.
        await putBack(other).catch((error: unknown) => log.warn('the other agent has no way back', { error }));
        await guard.removeGuard(places);
        await system.run('systemctl', 'daemon-reload');
      },
      system,
      clock: io.clock,
    },
    stop,
  );
  return exitCodes.done;
}

async function installBeside(given: TakeOverOptions, io: Io): Promise<void> {
  const notes: string[] = [];
  const { install } = await import('./install.ts');
  const { installOptions } = await import('./option-tables.ts');
  const words = {
    url: undefined,
    partId: undefined,
    apiKeyId: undefined,
    apiKey: undefined,
    installer: undefined,
    binary: undefined,
  };
  const flags = { noStart: false, dryRun: false, force: false, replace: false, offline: false };
  const code = await install(
    {
      ...words,
      ...flags,
      config: given.ownConfig,
      root: path.resolve(given.root),
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
}

/**
 * Without systemd, an unknown process starts the other agent. From now on, it starts our supervisor: its link stays
 * ours until `migrate-back`.
 */
async function inPlace({ given, io, log, other, places }: Run): Promise<number> {
  const { supervise } = await import('./supervise.ts');
  const root = path.resolve(given.root);
  const finish = async (): Promise<void> => {
    const { isReached } = await awaitAgent({ root, version, isOnline: true }, { system, clock: io.clock });
    if (!isReached) return;
    await writeMoved(root, { root: other.root, isInPlace: true });
    await guard.removeGuard(places);
  };
  void finish().catch((error: unknown) => log.warn('the guard could not be taken away', { error }));
  return supervise({ config: given.ownConfig, root }, io);
}

/** Report first: while the update is offered, the other agent would fetch this program again. */
async function goBack(run: Run, credentials: string, problem: string): Promise<number> {
  run.log.error('taking over failed: the other agent is put back', { problem });
  await report(run, credentials, problem);
  return restore(run);
}

async function report({ given, io, log }: Run, credentialsText: string, problem: string): Promise<void> {
  const root = path.resolve(given.root);
  await reportFailure({ credentialsText, problem, root }, { system, clock: io.clock }).catch((error: unknown) =>
    log.warn('the management server could not be notified', { error }),
  );
}

async function restore({ log, other, places, hasSystemd }: Run): Promise<number> {
  try {
    await putBack(other);
    await guard.removeCreated(other.root);
    if ((await guard.removeGuard(places)) && hasSystemd) await system.run('systemctl', 'daemon-reload');
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
