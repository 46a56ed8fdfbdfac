// Runs the random walk: makes each step real, measures the surroundings until the outcome is known, and checks with a
// phone that a miss is one of the machine and not of the lab.
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { systemClock } from '@platform/kit/node';
import type { FactoryDevice } from '../factory-device.ts';
import { hotspot } from '../factory-device.ts';
import type { NewMachine } from '../site.ts';
import { promisedSeconds, trialSeconds } from './promise.ts';
import { nextStep, type StepKind } from './steps.ts';
import { makeReal, networks, phoneReaches, reboot } from './surroundings.ts';
import { countedSeconds, measureCommand, parseMeasurement, type Sample, type Outcome, outcomeOf } from './checker.ts';
import {
  describeStep,
  describeWorld,
  type Expectation,
  expectationOf,
  initialWorld,
  type Mode,
  places,
  savedIn,
  type Step,
  type WalkWorld,
  worldAfter,
} from './world.ts';

/** The address of the machine's radio; the lab's radios have fixed ones. */
const radioAddress = '02:00:00:00:00:00';

export interface StepResult {
  number: number;
  step: Step;
  world: WalkWorld;
  expectation: Expectation;
  limitSeconds: number;
  /** `unproved`: the lab failed, so the step says nothing about the machine. */
  outcome: 'met' | 'missed' | 'unproved';
  seconds: number;
  /** The longest measurement in seconds: more than some 10 s show a busy host. */
  slowest: number;
  /** For a miss: samples, journal. For an unproved step: why. */
  note: string;
}

export interface WalkOptions {
  device: FactoryDevice;
  owned: NewMachine;
  random: () => number;
  firstMode: Mode;
  minutes: number;
  say: (line: string) => void;
}

const configOf = (world: WalkWorld) => ({
  advanced_settings: { disable_platform_server: true },
  network_configuration: {
    offline_before_starting_hotspot_minutes: 1,
    retry_connection_timeout_minutes: 1,
    user_idle_minutes: 1,
    turn_on_hotspot_if_wifi_has_no_internet: world.mode === 'roaming',
  },
  additional_networks: savedIn(world).map((place) => ({ name: place, type: 'wifi', ...networks[place] })),
});

export async function runWalk(options: WalkOptions): Promise<StepResult[]> {
  const { device, random, firstMode, minutes, say } = options;
  const results: StepResult[] = [];
  const uses: Partial<Record<StepKind, number>> = {};
  let world = await begin(options);
  const end = systemClock.now() + minutes * 60_000;
  const half = end - minutes * 30_000;
  let isLost = false;
  while (systemClock.now() < end) {
    const mode = systemClock.now() < half ? firstMode : firstMode === 'roaming' ? 'single' : 'roaming';
    const step = nextStep({ random, world, uses, mode, isLost });
    const after = worldAfter(world, step);
    uses[step.do] = (uses[step.do] ?? 0) + 1;
    const number = results.length + 1;
    say(`step ${number}: ${describeStep(step)} → ${describeWorld(after)}; expected: ${expectationOf(after)}`);
    const result = await take(options, { number, step, before: world, world: after });
    results.push(result);
    say(
      `step ${number}: ${result.outcome} after ${Math.round(result.seconds)} s of ${result.limitSeconds} s (slowest measurement ${Math.round(result.slowest)} s)`,
    );
    if (result.outcome !== 'met') say(result.note);
    if (isLost && result.outcome === 'missed') await reboot(device.machine);
    if (isLost && result.outcome !== 'met') await makeReal(device.machine, after);
    isLost = result.outcome !== 'met';
    world = after;
    await systemClock.sleep(5_000 + random() * 20_000);
  }
  return results;
}

/** A machine that is online by the network of highest priority, in a world in which everything works. */
async function begin({ device, owned, firstMode }: WalkOptions): Promise<WalkWorld> {
  const world = initialWorld(firstMode);
  await makeReal(device.machine, { ...world, isCableIn: true });
  await device.site.configure(owned.partId, configOf(world));
  await untilSaved(device, owned, world, 300);
  await makeReal(device.machine, world);
  const start = stepAt(0, { do: 'repair' }, world);
  const { outcome, note } = await observe(device, owned, start, 'online', 900, systemClock.wall());
  if (outcome.is !== 'met') throw new Error(`the machine is not online before the walk:\n${note}`);
  return world;
}

interface Attempt {
  number: number;
  step: Step;
  before: WalkWorld;
  world: WalkWorld;
}

const stepAt = (number: number, step: Step, world: WalkWorld): Attempt => ({ number, step, before: world, world });

/** Takes a step; again, with everything made anew, if the lab failed. */
async function take(options: WalkOptions, attempt: Attempt): Promise<StepResult> {
  const { device, owned, say } = options;
  const { step, world } = attempt;
  const expectation = expectationOf(world);
  const limitSeconds = promisedSeconds(expectation, step, places.length);
  const result = { number: attempt.number, step, world, expectation, limitSeconds };
  let note = '';
  for (let turn = 0; turn < 2; turn += 1) {
    try {
      const unsaved = await act(device, owned, attempt, turn > 0);
      const sinceMs = systemClock.wall() + (world.cutOff === null ? 0 : (trialSeconds + 20) * 1000);
      const seen = await observe(device, owned, attempt, expectation, limitSeconds, sinceMs);
      const { outcome } = seen;
      if (outcome.is === 'met' && unsaved === '')
        return { ...result, outcome: 'met', seconds: outcome.seconds, slowest: seen.slowest, note };
      note = [unsaved, seen.note].filter((text) => text !== '').join('\n');
      const labFailure = outcome.is === 'contradiction' ? outcome.why : await labFailureOf(device, world, expectation);
      if (labFailure === '')
        return { ...result, outcome: 'missed', seconds: seen.seconds, slowest: seen.slowest, note };
      note = `the lab failed: ${labFailure}\n${note}`;
    } catch (error) {
      note = `the lab failed: ${error instanceof Error ? error.message : String(error)}`;
    }
    say(`step ${attempt.number}: ${note.split('\n')[0] ?? ''}; again`);
  }
  return { ...result, outcome: 'unproved', seconds: 0, slowest: 0, note };
}

/** Does what the step says. @returns what has not reached the machine; empty: everything has */
async function act(
  device: FactoryDevice,
  owned: NewMachine,
  { step, before, world }: Attempt,
  isAgain: boolean,
): Promise<string> {
  const { machine, site } = device;
  if (step.do === 'kill-manager') await machine.must('systemctl kill -s KILL NetworkManager', 60);
  if (step.do === 'reboot') await reboot(machine);
  await makeReal(machine, world, isAgain || step.do === 'reboot' || step.do === 'repair' ? undefined : before);
  if (step.do !== 'remove' && step.do !== 'add' && step.do !== 'mode' && step.do !== 'repair') return '';
  await site.configure(owned.partId, configOf(world));
  if (world.cutOff !== null) return '';
  return untilSaved(device, owned, world, 400);
}

/**
 * Polls until NetworkManager has the networks that the app has. Waits for the report of the revision, too, which only
 * orders the steps: without it, the walk goes on. @returns what is missing; empty: nothing
 */
async function untilSaved(
  { machine, site }: FactoryDevice,
  { partId }: NewMachine,
  world: WalkWorld,
  seconds: number,
): Promise<string> {
  const end = systemClock.now() + seconds * 1000;
  for (;;) {
    const { code, stdout } = await machine.exec('nmcli -t -f NAME connection', 60);
    const { report, wantedRevision } = await site.machine(partId);
    const has = places.filter((place) => stdout.includes(`platform ${place}`));
    const isSaved = code === 0 && has.join(' ') === savedIn(world).join(' ');
    if (isSaved && report?.appliedRevision === wantedRevision) return '';
    if (systemClock.now() > end) {
      const names = `the app has ${savedIn(world).join(', ')}, NetworkManager has ${has.join(', ')}`;
      return isSaved ? '' : `not on the machine within ${seconds} s: ${names}`;
    }
    await systemClock.sleep(3_000);
  }
}

interface Observed {
  outcome: Outcome;
  seconds: number;
  slowest: number;
  note: string;
}

/** Measures the surroundings until the outcome is known. */
async function observe(
  device: FactoryDevice,
  { partId }: NewMachine,
  { step, world }: Attempt,
  expectation: Expectation,
  limitSeconds: number,
  sinceMs: number,
): Promise<Observed> {
  const { machine, site } = device;
  const samples: Sample[] = [];
  let [counted, failures, slowest] = [0, 0, 0];
  for (;;) {
    const start = systemClock.now();
    const { stdout } = await machine.exec(measureCommand, 60);
    const measured = parseMeasurement(stdout, { hotspot: hotspot.ssid, address: radioAddress });
    const { lastSeen } = await site.machine(partId);
    const contactSeconds = lastSeen ? (timestampMs(lastSeen) - sinceMs) / 1000 : -Infinity;
    await systemClock.sleep(3_000);
    const tookSeconds = (systemClock.now() - start) / 1000;
    slowest = Math.max(slowest, tookSeconds);
    counted += countedSeconds(tookSeconds, measured !== undefined);
    failures = measured ? 0 : failures + 1;
    if (failures > 60) throw new Error(`60 measurements in a row failed:\n${stdout.slice(-500)}`);
    if (!measured) continue;
    samples.push({ seconds: counted, ...measured, contactSeconds });
    const outcome = outcomeOf(samples, { expectation, world, limitSeconds: limitSeconds + waitOf(world) });
    if (outcome.is === 'open') continue;
    const note = outcome.is === 'met' ? '' : await explain(machine, { step, world, samples });
    return { outcome, seconds: outcome.is === 'met' ? outcome.seconds : counted, slowest, note };
  }
}

/** A change that is rolled back is tried first. */
const waitOf = (world: WalkWorld): number => (world.cutOff === null ? 0 : trialSeconds);

/** What the surroundings and the agent's journal say about a miss. */
async function explain(
  machine: FactoryDevice['machine'],
  { step, world, samples }: { step: Step; world: WalkWorld; samples: readonly Sample[] },
): Promise<string> {
  const { stdout } = await machine.exec(
    'nmcli device; nmcli -f NAME,TYPE,ACTIVE,AUTOCONNECT-PRIORITY connection; ip -br addr; journalctl -u platform-agent -o short-monotonic --no-pager -n 60; journalctl -u NetworkManager -o short-monotonic --no-pager -n 20',
    60,
  );
  const measured = samples.slice(-3).map((sample) => JSON.stringify(sample));
  return [`${describeStep(step)}; ${describeWorld(world)}`, ...measured, stdout].join('\n');
}

/** Checks with the phone that the world is as the walk made it. @returns the failure of the lab; empty: none */
async function labFailureOf({ machine }: FactoryDevice, world: WalkWorld, expectation: Expectation): Promise<string> {
  if (expectation === 'connected' || expectation === 'either' || (expectation === 'online' && world.isCableIn))
    return '';
  const joinable = places.filter(
    (place) => world[place].isOn && !world[place].hasOtherPassword && world[place].answersDhcp,
  );
  const isWorking = (place: (typeof places)[number]): boolean =>
    world[place].upstream === 'works' && !world.isProviderDown;
  for (const place of joinable) {
    if (!world[place].isConfigured || world[place].upstream === 'no-dns') continue;
    const reaches = await phoneReaches(machine, place);
    if (expectation === 'online' && isWorking(place) && reaches !== true)
      return `a phone at ${place} does not reach the server (${reaches === undefined ? 'it cannot join' : 'joined'})`;
    if (expectation === 'hotspot' && reaches === true) return `a phone at ${place} reaches the server`;
  }
  return '';
}
