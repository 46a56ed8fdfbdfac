import { parseServerUrl } from '@platform/contract/provisioning/server-url';
import { createLog, type Clock, type Log } from '@platform/kit';
import { readPem, stderrSink, type TrustedAuthority, Usage, useProxiesOf } from '@platform/kit/node';
import { fragmentOf } from '../config/own-fragment.ts';
import { applySteps, StepFailed } from '../install/apply.ts';
import { fetchCredentials, foundCredentials } from '../install/fetch-credentials.ts';
import type { Facts } from '../install/facts.ts';
import { lookAround } from '../install/look.ts';
import { refusalsOf, stepsOf, stepText, type Refusal } from '../install/install-plan.ts';
import { system } from '../composition/system.ts';
import { awaitAgent } from '../install/wait.ts';
import { desiredInstallation } from '../install/desired.ts';
import { onceFetch, trustedBy } from '../link/tolerant-fetch.ts';
import { agentUnit } from '../install/unit.ts';
import { programStore } from '../versions/program-store.ts';
import type { Io } from './command.ts';
import { Ended, exitCodes } from './exit-codes.ts';
import { readDefaults } from './layers.ts';
import { standardDefaults } from './run-options.ts';
import type { OptionValues } from '@platform/kit/node';
import type { installOptions } from './option-tables.ts';

interface Given extends OptionValues<typeof installOptions> {
  /** Other agents are neither refused nor stopped: the caller does that. */
  leavesOthers?: boolean;
}

/** The result, for --json. */
interface Outcome {
  is_changed: boolean;
  version: string;
  steps: string[];
  refusals: Refusal[];
  is_running: boolean;
  is_reached: boolean;
}

/** Collects the outcome, and prints it as text at once or as JSON at the end. */
interface Reporter {
  readonly outcome: Outcome;
  /** Prints a line for users; nothing with --json. */
  print(text: string): void;
  /** Reports a completed step. */
  step(text: string): void;
  refuse(refusals: Refusal[]): void;
  /** Prints the outcome with --json. @returns the exit code */
  end(code: number): number;
}

function reporter({ json }: Pick<Given, 'json'>, io: Io, version: string): Reporter {
  const outcome: Outcome = {
    is_changed: false,
    version,
    steps: [],
    refusals: [],
    is_running: false,
    is_reached: false,
  };
  const print = (text: string): void => void (json || io.out(text));
  return {
    outcome,
    print,
    step(text) {
      outcome.is_changed = true;
      outcome.steps.push(text);
      print(`  ${text}`);
    },
    refuse(refusals) {
      outcome.refusals = refusals;
      if (!json) for (const { what, remedy } of refusals) io.note(`${what} ${remedy}`);
    },
    end(code) {
      if (json) io.out(JSON.stringify(outcome));
      return code;
    },
  };
}

export async function install(given: Given, io: Io): Promise<number> {
  if (process.platform === 'win32') {
    const asked = askedFor(given, undefined);
    const send = await sendTo(asked?.url, given, io.clock);
    return (await import('./windows-install.ts')).installHere(given, asked, io, send);
  }
  const { clock } = io;
  const log = createLog({ name: 'install', clock, level: 'warn', sink: stderrSink('text') });
  const { desired, places } = desiredInstallation(given, io.env);
  const found = await lookAround(places, { system, clock, log });
  const facts = given.leavesOthers ? { ...found, others: [] } : found;
  const report = reporter(given, io, facts.candidate.version);

  const asked = askedFor(given, facts.credentials.at === 'usable' ? facts.credentials.appAddress : undefined);
  const refusals = refusalsOf(facts, { ...desired, credentials: asked && { text: '', partId: asked.partId } });
  if (refusals.length > 0) {
    report.refuse(refusals);
    return report.end(exitCodes.refused);
  }
  useProxiesOf(process.env);
  if (asked) {
    const fragmentId = fragmentOf(await readDefaults(standardDefaults));
    const send = await sendTo(asked.url, given, clock);
    desired.credentials = await fetchCredentials({ ...asked, fragmentId }, clock, send);
  }
  const steps = stepsOf(facts, desired);
  const isSoAlready = steps.length === 0;
  if (given.dryRun) {
    report.outcome.steps = steps.map(stepText);
    report.print(isSoAlready ? soAlready : ['This would be done:', ...report.outcome.steps].join('\n  '));
    return report.end(exitCodes.done);
  }
  const used = desired.credentials ? foundCredentials(desired.credentials.text) : facts.credentials;
  const target = steps.some((step) => step.do === 'stage')
    ? await verified(given, desired.root, { facts, used, report, clock, log })
    : '';
  const isOnline = !given.offline && used.at === 'usable';
  await applied(steps, { isOnline, facts, desired, target, report, clock, log });

  if (!desired.usesSystemd || !desired.isStarted) {
    const { version } = facts.candidate;
    report.print(isSoAlready ? soAlready : `platform-agent ${version} is installed, and not started.`);
    return report.end(exitCodes.done);
  }
  const appAddress = used.at === 'usable' ? used.appAddress : '';
  const of = { facts, root: desired.root, appAddress, isOnline, isSoAlready };
  const code = started(of, report, { clock, log });
  return report.end(
    await code.catch((error: unknown) => {
      report.end(exitCodes.failed); // report the completed steps, too
      throw error;
    }),
  );
}

const soAlready = 'Nothing to do: everything is already in place.';

interface Work {
  facts: Facts;
  report: Reporter;
  clock: Clock;
  log: Log;
}

/** Verifies the release of this program before it is installed. @returns its target path; empty: not verified */
async function verified(
  given: Given,
  root: string,
  { facts, used, report, clock, log }: Work & { used: ReturnType<typeof foundCredentials> },
): Promise<string> {
  const { trustedRoot } = given;
  if (given.offline) {
    if (trustedRoot !== undefined) {
      await (await import('../install/verify.ts')).pinTrustedRoot({ root, system }, trustedRoot);
    }
    return '';
  }
  if (given.unsigned) return '';
  const { candidate, platform } = facts;
  const appAddress = used.at === 'usable' ? used.appAddress : given.url;
  if (appAddress === undefined) {
    throw new Usage('Without credentials, --url must name the management server that signed the release.', 2);
  }
  const send = await sendTo(appAddress, given, clock, used.at === 'usable' ? trustedBy(used) : undefined);
  const { verifyRelease } = await import('../install/verify.ts');
  const release = { appAddress, root, candidate, platform, trustedRoot, send };
  const target = await verifyRelease(release, { system, clock, log });
  report.print(`The signature of version ${candidate.version} is right.`);
  return target;
}

/** @throws Ended INSTALL_FAILED */
async function applied(
  steps: ReturnType<typeof stepsOf>,
  of: Work & { isOnline: boolean; desired: ReturnType<typeof desiredInstallation>['desired']; target: string },
): Promise<void> {
  const { isOnline, facts, desired, target, report, clock, log } = of;
  const { root, credentialsFile, unitFile } = desired;
  const parts = { root, credentialsFile, unitFile, candidate: facts.candidate, target, isOnline };
  await applySteps(steps, {
    ...parts,
    system,
    clock,
    log,
    report: report.step,
    note: (text) => report.print(`  ${text}`),
  }).catch((error: unknown) => {
    if (!(error instanceof StepFailed)) throw error;
    throw new Ended(exitCodes.failed, {
      code: 'INSTALL_FAILED',
      what: error.message,
      remedy: 'The previous installation keeps running. Remove the cause, then repeat the command.',
    });
  });
}

/** Waits for the started agent and reports the result. @throws Ended if it does not run */
async function started(
  of: { facts: Facts; root: string; appAddress: string; isOnline: boolean; isSoAlready: boolean },
  { outcome, print }: Reporter,
  { clock, log }: { clock: Clock; log: Log },
): Promise<number> {
  const { root, appAddress, isOnline, facts } = of;
  const { candidate } = facts;
  const { status, isRunning, isReached, isCrashing, problem } = await awaitAgent(
    { root, version: candidate.version, isOnline },
    { system, clock },
  );
  outcome.is_running = isRunning;
  outcome.is_reached = isReached;
  if (!isRunning) {
    // Without a previous version, the gate detects no failure. The quarantine prevents a later rollback to this one.
    if (facts.installed === null && isCrashing) {
      const store = programStore(system.files(root), 'agent', { clock, log });
      await store.quarantine(candidate.id, 'it did not start when it was installed', 0);
    }
    const tail = await system.run('journalctl', '--no-pager', '--lines=15', '--output=cat', `--unit=${agentUnit}`);
    throw new Ended(exitCodes.failed, {
      code: 'AGENT_NOT_RUNNING',
      what: `Version ${candidate.version} did not start: ${problem}.${status ? '' : ` Its last lines:\n${tail.text}\n`}`,
      remedy: `See: journalctl -u ${agentUnit}`,
    });
  }
  if (of.isSoAlready) print(soAlready);
  print(words(candidate.version, appAddress, isReached, isOnline));
  const trial = status?.programs.agent.trial;
  if (trial) print(`It must pass the health check within ten minutes; otherwise ${trial.previous} is restored.`);
  return exitCodes.done;
}

const words = (version: string, address: string, isReached: boolean, isOnline: boolean): string =>
  [
    `platform-agent ${version} runs${isReached ? ` and has reached ${address}.` : '.'}`,
    ...(isReached || !isOnline
      ? []
      : [`It has not reached ${address} yet, and goes on trying. See: platform-agent doctor`]),
    'Status: platform-agent status    Log: platform-agent logs -f',
  ].join('\n');

/** The fetch for a management server. It also trusts the named authority, or the one in the given file. */
async function sendTo(
  url: string | undefined,
  { authority, root }: Pick<Given, 'authority' | 'root'>,
  clock: Clock,
  named?: TrustedAuthority,
): Promise<typeof fetch> {
  const isGiven = url !== undefined && authority !== undefined && URL.canParse(url);
  const trusted = isGiven ? { origin: new URL(url).origin, pem: await readPem(authority) } : undefined;
  return onceFetch(named ?? trusted, { root, clock, system });
}

/** The credentials to fetch; undefined: the existing ones are used. @throws Usage */
function askedFor(given: Given, knownAddress: string | undefined) {
  const { partId, apiKeyId, apiKey, offline } = given;
  const parts = { PLATFORM_API_KEY_ID: apiKeyId, PLATFORM_API_KEY: apiKey, PLATFORM_PART_ID: partId };
  const missing = Object.entries(parts).flatMap(([name, value]) => (value === undefined ? [name] : []));
  if (missing.length === 3 || offline) return undefined;
  const url = given.url ?? knownAddress;
  if (partId === undefined || apiKeyId === undefined || apiKey === undefined || url === undefined) {
    const names = [...missing, ...(url === undefined ? ['PLATFORM_URL'] : [])].join(', ');
    throw new Usage(`To fetch the credentials of this machine ${names} must be set, too.`, 2);
  }
  const server = parseServerUrl(url);
  if (!server.ok)
    throw new Usage(
      `PLATFORM_URL must be the URL of the management server; ${server.shown} cannot be used: ${server.problem}.`,
      2,
    );
  return { url: server.value, partId, apiKey: { id: apiKeyId, key: apiKey, installer: given.installer } };
}
