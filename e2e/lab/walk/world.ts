// The world of the random walk: access points, what is behind them, the cable, and what the machine owes its owner in
// it. Pure.

export type Place = 'home' | 'cafe';
/** `single` and `roaming`: both values of turn_on_hotspot_if_wifi_has_no_internet. */
export type Mode = 'single' | 'roaming';
/** What is behind an access point: works, swallows packets, has no DNS, redirects to a portal, resets connections. */
export type Upstream = 'works' | 'blackhole' | 'no-dns' | 'captive' | 'reset';

export interface AccessPointState {
  isOn: boolean;
  hasOtherPassword: boolean;
  answersDhcp: boolean;
  upstream: Upstream;
  /** The machine has it: it is saved in the app, or its removal is expected to be rolled back. */
  isConfigured: boolean;
}

export interface WalkWorld {
  mode: Mode;
  home: AccessPointState;
  cafe: AccessPointState;
  isCableIn: boolean;
  /** Nothing has internet, whatever it is connected to. */
  isProviderDown: boolean;
  /** Removed in the app while the machine is online by it alone: a change that must be rolled back. */
  cutOff: Place | null;
}

export type Step =
  | { do: 'power'; place: Place; isOn: boolean }
  | { do: 'password'; place: Place; isOther: boolean }
  | { do: 'upstream'; place: Place; upstream: Upstream }
  | { do: 'dhcp'; place: Place; answers: boolean }
  | { do: 'provider'; isDown: boolean }
  | { do: 'cable'; isIn: boolean }
  | { do: 'remove'; place: Place }
  | { do: 'add'; place: Place }
  | { do: 'kill-manager' }
  | { do: 'reboot' }
  | { do: 'mode'; mode: Mode }
  | { do: 'repair' };

/**
 * `online`: the management server hears the machine, and the hotspot is off. `connected`: that, or the machine is on its
 * network of highest priority. `hotspot`: the hotspot is on the air. `either`: online or hotspot.
 */
export type Expectation = 'online' | 'connected' | 'hotspot' | 'either';

/** In descending priority. */
export const places: readonly Place[] = ['home', 'cafe'];

const working: AccessPointState = {
  isOn: true,
  hasOtherPassword: false,
  answersDhcp: true,
  upstream: 'works',
  isConfigured: true,
};

export const initialWorld = (mode: Mode): WalkWorld => ({
  mode,
  home: working,
  cafe: working,
  isCableIn: false,
  isProviderDown: false,
  cutOff: null,
});

/** The network that single mode uses. */
export const primaryOf = (world: WalkWorld): Place | undefined => places.find((place) => world[place].isConfigured);

const isJoinable = ({ isConfigured, isOn, hasOtherPassword, answersDhcp }: AccessPointState): boolean =>
  isConfigured && isOn && !hasOtherPassword && answersDhcp;

/** Without DNS, connections of before may last: both outcomes are right. */
function internetBehind(world: WalkWorld, place: Place): 'yes' | 'no' | 'unsure' {
  if (world.isProviderDown) return 'no';
  const { upstream } = world[place];
  return upstream === 'works' ? 'yes' : upstream === 'no-dns' ? 'unsure' : 'no';
}

/** What docs/provisioning.md promises in this world. */
export function expectationOf(world: WalkWorld): Expectation {
  if (world.isCableIn && !world.isProviderDown) return 'online';
  const joinable = places.filter((place) => isJoinable(world[place]));
  const primary = primaryOf(world);
  if (world.mode === 'single' && primary !== undefined && joinable.includes(primary))
    return internetBehind(world, primary) === 'yes' ? 'online' : 'connected';
  const internet = joinable.map((place) => internetBehind(world, place));
  return internet.includes('yes') ? 'online' : internet.includes('unsure') ? 'either' : 'hotspot';
}

const withPlace = (world: WalkWorld, place: Place, change: Partial<AccessPointState>): WalkWorld => ({
  ...world,
  [place]: { ...world[place], ...change },
});

/** The world after a step. A removal that leaves nothing to be online by is rolled back. */
export function worldAfter(world: WalkWorld, step: Step): WalkWorld {
  switch (step.do) {
    case 'power':
      return withPlace(world, step.place, { isOn: step.isOn });
    case 'password':
      return withPlace(world, step.place, { hasOtherPassword: step.isOther });
    case 'upstream':
      return withPlace(world, step.place, { upstream: step.upstream });
    case 'dhcp':
      return withPlace(world, step.place, { answersDhcp: step.answers });
    case 'provider':
      return { ...world, isProviderDown: step.isDown };
    case 'cable':
      return { ...world, isCableIn: step.isIn };
    case 'remove': {
      const removed = withPlace(world, step.place, { isConfigured: false });
      return expectationOf(removed) === 'online' ? removed : { ...world, cutOff: step.place };
    }
    case 'add':
      return { ...withPlace(world, step.place, { isConfigured: true }), cutOff: null };
    case 'mode':
      return { ...world, mode: step.mode };
    case 'repair':
      return { ...initialWorld(world.mode), isCableIn: true };
    case 'kill-manager':
    case 'reboot':
      return world;
  }
}

/** The networks that the app has. */
export const savedIn = (world: WalkWorld): readonly Place[] =>
  places.filter((place) => world[place].isConfigured && world.cutOff !== place);

export function describeStep(step: Step): string {
  switch (step.do) {
    case 'power':
      return `${step.place}: switched ${step.isOn ? 'on' : 'off'}`;
    case 'password':
      return `${step.place}: ${step.isOther ? 'another password at the router' : 'its password again'}`;
    case 'upstream':
      return `${step.place}: upstream ${step.upstream}`;
    case 'dhcp':
      return `${step.place}: started again, DHCP ${step.answers ? 'answers' : 'silent'}`;
    case 'provider':
      return `provider ${step.isDown ? 'down, packets swallowed everywhere' : 'up again'}`;
    case 'cable':
      return `cable ${step.isIn ? 'in' : 'out'}`;
    case 'remove':
    case 'add':
      return `${step.place}: ${step.do === 'remove' ? 'removed' : 'added'} in the app`;
    case 'kill-manager':
      return 'NetworkManager killed';
    case 'reboot':
      return 'machine rebooted';
    case 'mode':
      return `mode ${step.mode}`;
    case 'repair':
      return 'everything repaired, cable in';
  }
}

/** One line, with what deviates from a world in which everything works. */
export function describeWorld(world: WalkWorld): string {
  const of = (place: Place): string => {
    const { isOn, hasOtherPassword, answersDhcp, upstream, isConfigured } = world[place];
    const facts = [
      isOn ? 'on' : 'off',
      ...(hasOtherPassword ? ['another password'] : []),
      ...(answersDhcp ? [] : ['DHCP silent']),
      ...(upstream === 'works' ? [] : [`upstream ${upstream}`]),
      ...(isConfigured ? [] : ['not configured']),
      ...(world.cutOff === place ? ['removed in the app'] : []),
    ];
    return `${place} ${facts.join(', ')}`;
  };
  return [
    world.mode,
    ...places.map(of),
    `cable ${world.isCableIn ? 'in' : 'out'}`,
    `provider ${world.isProviderDown ? 'down' : 'up'}`,
  ].join('; ');
}
