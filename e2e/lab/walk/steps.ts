// The plan of the random walk: which step follows in a world, drawn from a seeded generator. Pure.
import { expectationOf, places, type Mode, type Step, type Upstream, type WalkWorld, worldAfter } from './world.ts';

export type StepKind = Step['do'];

export interface Walk {
  random: () => number;
  world: WalkWorld;
  /** How often each kind was drawn: rarer ones become more likely, so that a short walk has many kinds. */
  uses: Readonly<Partial<Record<StepKind, number>>>;
  /** The mode to change to. */
  mode: Mode;
  /** The last step missed its expectation, so the state of the machine is unknown. */
  isLost: boolean;
}

const faults: readonly Exclude<Upstream, 'works'>[] = ['blackhole', 'no-dns', 'captive', 'reset'];

export function nextStep(walk: Walk): Step {
  const { world, mode, isLost } = walk;
  if (isLost) return { do: 'repair' };
  if (world.cutOff !== null) return { do: 'add', place: world.cutOff };
  if (mode !== world.mode) return expectationOf(world) === 'online' ? { do: 'mode', mode } : { do: 'repair' };
  const weighed = candidates(world).map((step) => ({ step, weight: weightOf(step, walk) }));
  let left = walk.random() * weighed.reduce((sum, { weight }) => sum + weight, 0);
  for (const { step, weight } of weighed) if ((left -= weight) < 0) return step;
  return { do: 'kill-manager' };
}

/** Steps that change this world, or disturb the machine. */
export function candidates(world: WalkWorld): Step[] {
  const ofPlaces = places.flatMap((place): Step[] => {
    const { isOn, hasOtherPassword, answersDhcp, upstream } = world[place];
    const upstreams: readonly Upstream[] = upstream === 'works' ? faults : ['works'];
    return [
      { do: 'power', place, isOn: !isOn },
      ...(isOn
        ? [
            { do: 'password', place, isOther: !hasOtherPassword } as const,
            { do: 'dhcp', place, answers: !answersDhcp } as const,
            ...upstreams.map((next) => ({ do: 'upstream', place, upstream: next }) as const),
          ]
        : []),
    ];
  });
  return [
    ...ofPlaces,
    ...ofApp(world),
    { do: 'provider', isDown: !world.isProviderDown },
    { do: 'cable', isIn: !world.isCableIn },
    { do: 'kill-manager' },
    { do: 'reboot' },
  ];
}

/** The app reaches the machine only while it is online. One network stays. */
function ofApp(world: WalkWorld): Step[] {
  if (expectationOf(world) !== 'online') return [];
  return places.every((place) => world[place].isConfigured)
    ? places.map((place) => ({ do: 'remove', place }))
    : places.filter((place) => !world[place].isConfigured).map((place) => ({ do: 'add', place }));
}

/** A step that changes what is expected proves more than one that does not. */
function weightOf(step: Step, { world, uses }: Walk): number {
  const before = expectationOf(world);
  const after = expectationOf(worldAfter(world, step));
  const effect = after === before ? 1 : before === 'hotspot' ? 6 : 4;
  const alternatives = step.do === 'upstream' && step.upstream !== 'works' ? faults.length : 1;
  return effect / alternatives / (1 + (uses[step.do] ?? 0)) ** 2;
}
