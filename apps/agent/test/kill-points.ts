import { seededRandom } from '@platform/kit/testing';
import type { Fate, Step } from '../src/os/sim/file-system.ts';
import type { Survivors } from '../src/os/sim/files.ts';
import type { WebFate } from '../src/os/sim/web.ts';
import type { Program } from '../src/versions/layout.ts';
import { Rig } from './rig.ts';

export const programs = ['agent', 'server'] as const;
const patience = 90; // minutes
const fullForMs = 10 * 60_000;

export interface Point {
  program: Program;
  /** 1-based number of a disk step or of a network event. */
  at: number;
  on: 'disk' | 'web';
  what: string;
  fault:
    | { is: 'cut'; how: 'lostBefore' | 'lostAfter' | 'lostHalf'; survivors: 'nothing' | 'names' | 'some' | 'all' }
    | { is: 'fail'; code: 'EIO' | 'ENOSPC' }
    | { is: 'tear' }
    | { is: 'web'; fate: WebFate };
}

/** Creates a machine with both programs installed and a new version of one of them. */
function world(program: Program) {
  const rig = new Rig();
  for (const each of programs) {
    const old = rig.publish(each, '1.0.0');
    rig.install(each, old.id);
    old.use();
  }
  const old = rig.inUse(program);
  const next = rig.publish(program, '1.1.0');
  next.use();
  return { rig, old, next: next.id };
}

const survivorsOf = (name: 'nothing' | 'names' | 'some' | 'all', seed: number): Survivors =>
  name === 'some' ? { of: 'some', random: seededRandom(seed) } : { of: name };

/** Records the steps of an undisturbed update. */
async function steps(program: Program, prepare: (rig: Rig) => void): Promise<{ disk: Step[]; web: string[] }> {
  const { rig, next } = world(program);
  prepare(rig);
  const seen: { disk: Step[]; web: string[] } = { disk: [], web: [] };
  rig.setFate((step) => {
    seen.disk.push(step);
    return 'ok';
  });
  rig.machine.releases.fate = (url, what) => {
    seen.web.push(`${what} of ${url}`);
    return 'ok';
  };
  rig.power();
  const isDone = await rig.until(() => rig.isWell() && rig.inUse(program) === next, patience);
  if (!isDone) throw new Error(`the update itself does not work\n${rig.transcript.join('\n')}`);
  await rig.off();
  return seen;
}

/** Steps that need disk space; a rename does not. */
const makes = new Set<Step['do']>(['mkdir', 'create', 'write', 'symlink']);

/** Faults at each step. Log lines add many more steps, so each step below `spool/` gets one fault only. */
export async function pointsOf(program: Program, prepare: (rig: Rig) => void = () => {}): Promise<Point[]> {
  const { disk, web } = await steps(program, prepare);
  const points: Point[] = [];
  disk.forEach((step, i) => {
    const add = (fault: Point['fault']) =>
      points.push({ program, at: i + 1, on: 'disk', what: `${step.do} ${step.path}`, fault });
    const cuts: Point['fault'][] = [
      { is: 'cut', how: 'lostBefore', survivors: 'nothing' },
      { is: 'cut', how: 'lostAfter', survivors: 'names' },
      { is: 'cut', how: 'lostAfter', survivors: 'some' },
    ];
    if (step.path.startsWith('spool/')) return add(cuts[i % cuts.length]!);
    for (const cut of cuts) add(cut);
    add({ is: 'fail', code: 'EIO' });
    if (makes.has(step.do)) add({ is: 'fail', code: 'ENOSPC' });
    if (step.do === 'write') add({ is: 'tear' });
    if (step.do === 'write') add({ is: 'cut', how: 'lostHalf', survivors: 'all' });
  });
  web.forEach((what, i) => {
    const fates: WebFate[] = what.startsWith('answer') ? ['error', 503, 404] : ['error', 'short', 'wrong'];
    for (const fate of fates) points.push({ program, at: i + 1, on: 'web', what, fault: { is: 'web', fate } });
    const fault = { is: 'cut', how: 'lostBefore', survivors: 'some' } as const;
    points.push({ program, at: i + 1, on: 'web', what, fault });
  });
  return points;
}

function arm(rig: Rig, { at, on, fault }: Point): void {
  if (fault.is === 'cut') rig.survivors = survivorsOf(fault.survivors, at);
  if (on === 'web') {
    let n = 0;
    rig.machine.releases.fate = () => {
      if (++n !== at) return 'ok';
      if (fault.is === 'cut') rig.cutPower();
      return fault.is === 'web' ? fault.fate : 'ok';
    };
    return;
  }
  let fullUntil = -1;
  rig.setFate((step, n): Fate => {
    if (rig.clock.now() < fullUntil && makes.has(step.do)) return { fail: 'ENOSPC' };
    if (n !== at) return 'ok';
    if (fault.is === 'cut') return fault.how;
    if (fault.is === 'tear') return { tear: 'EIO' };
    if (fault.is !== 'fail') return 'ok';
    if (fault.code === 'ENOSPC') fullUntil = rig.clock.now() + fullForMs;
    return { fail: fault.code };
  });
}

export type Outcome = 'new version' | 'new version at the second try' | 'old version, the new one quarantined';

/** @throws Error when the machine does not end as it must. */
export async function play(point: Point, prepare: (rig: Rig) => void = () => {}): Promise<Outcome> {
  const { program } = point;
  const { rig, old, next } = world(program);
  prepare(rig);
  arm(rig, point);
  rig.power();
  const fail = (what: string): never => {
    const { at, fault } = point;
    throw new Error(
      `${program}, step ${at} (${point.what}), ${JSON.stringify(fault)}: ${rig.broken ?? what}\n${rig.transcript.slice(-40).join('\n')}\n${[...rig.machine.files.tree().keys()].join(' ')}`,
    );
  };
  const isQuarantined = () => rig.machine.files.get(`state/platform-${program}.bad`) !== undefined;
  const isDone = () => rig.isWell() && (rig.inUse(program) === next || (rig.inUse(program) === old && isQuarantined()));
  if (!(await rig.until(isDone, patience)) || rig.broken !== undefined) fail('it does not come to rest');
  const outcome: Outcome = isQuarantined()
    ? 'old version, the new one quarantined'
    : rig.starts.filter((version) => version === '1.1.0').length > 1
      ? 'new version at the second try'
      : 'new version';

  // The state that the agent reported must be durable: a power cut now changes nothing.
  const kept = rig.inUse(program);
  rig.setFate(() => 'ok');
  rig.survivors = { of: 'nothing' };
  rig.cutPower();
  if (!(await rig.until(() => rig.isWell(), patience)) || rig.broken !== undefined) fail('not well after another cut');
  if (rig.inUse(program) !== kept) fail(`${kept} was in use, but a later power cut brings ${rig.inUse(program)} back`);

  const third = rig.publish(program, '1.2.0');
  third.use();
  const isThere = await rig.until(() => rig.isWell() && rig.inUse(program) === third.id, patience);
  if (!isThere || rig.broken !== undefined) fail('the next update does not work');
  await rig.off();
  return outcome;
}
