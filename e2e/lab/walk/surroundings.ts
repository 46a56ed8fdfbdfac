// Makes the world of the random walk real in the lab's virtual machine: `world` for the access points and the cable,
// nftables in the router for what is behind each of them.
import { systemClock } from '@platform/kit/node';
import { eventually, type VirtualMachine } from '../machine.ts';
import { home as homeNetwork } from '../radio.ts';
import { type Place, places, type Upstream, type WalkWorld } from './world.ts';

export const networks = {
  home: { ssid: homeNetwork.ssid, psk: homeNetwork.security.psk, priority: 10 },
  cafe: { ssid: 'Cafe', psk: 'cafepass123', priority: 5 },
} as const satisfies Record<Place, { ssid: string; psk: string; priority: number }>;

const otherPassword = 'otherpass123';
const namespaces = { home: 'router', cafe: 'cafe' } as const;
/** Where the packets of a link enter the router. */
const ports = { home: 'wlan1', cafe: 'cafe', cable: 'lan' } as const;

const outside = 'ip daddr != { 192.168.50.0/24, 255.255.255.255 }';
const portalPort = 8081;
const portalMark = 7;
const resetMark = 8;

const upstreamRules: Readonly<Record<Upstream, string>> = {
  works: '',
  blackhole: `${outside} drop`,
  'no-dns': 'udp dport 53 drop\n    tcp dport 53 drop',
  captive: `${outside} meta mark set ${portalMark}`,
  reset: `${outside} meta mark set ${resetMark}`,
};

/** Rules of nftables in the router's namespace. The access points keep working. */
function rulesOf(world: WalkWorld): string {
  const chain = (name: keyof typeof ports, ...rules: string[]): string =>
    `  chain ${name} {\n    type filter hook ingress device "${ports[name]}" priority 0;\n    ${rules.filter((rule) => rule !== '').join('\n    ')}\n  }`;
  const ofPlace = (place: Place): string => {
    const { answersDhcp, upstream } = world[place];
    const dhcp = answersDhcp ? '' : 'udp dport 67 drop';
    return chain(place, dhcp, upstreamRules[world.isProviderDown ? 'blackhole' : upstream]);
  };
  return `table netdev walk
delete table netdev walk
table ip walk
delete table ip walk
table netdev walk {
${[...places.map(ofPlace), chain('cable', world.isProviderDown ? upstreamRules.blackhole : '')].join('\n')}
}
table ip walk {
  chain portal {
    type nat hook prerouting priority -100;
    meta mark ${portalMark} tcp dport 80 redirect to :${portalPort}
  }
  chain out {
    type filter hook forward priority 0;
    meta mark ${portalMark} drop
    meta mark ${resetMark} meta l4proto tcp reject with tcp reset
    meta mark ${resetMark} reject
  }
}
`;
}

/** A foreign sign-in page, to which a captive network redirects. It reads the whole request: else the answer is cut off. */
export const portalCommand = String.raw`if [ -z "$(ip netns exec router ss -Hltn sport = :${portalPort})" ]; then
  cat > /run/sign-in-page <<'PORTAL'
#!/bin/sh
sed -E '/^.?$/q' > /dev/null
printf 'HTTP/1.0 302 Found\r\nLocation: http://192.168.50.1/login\r\nContent-Length: 0\r\n\r\n'
PORTAL
  chmod +x /run/sign-in-page
  setsid ip netns exec router socat TCP-LISTEN:${portalPort},fork,reuseaddr EXEC:/run/sign-in-page < /dev/null > /dev/null 2>&1 &
fi`;

/** Loads the rules in place of those before. */
export const rulesCommand = (world: WalkWorld): string =>
  `ip netns exec router nft -f - <<'RULES'\n${rulesOf(world)}RULES`;

const powerCommand = (world: WalkWorld, place: Place): string => {
  const { isOn, hasOtherPassword } = world[place];
  const { ssid, psk } = networks[place];
  return isOn
    ? `world ap on ${ssid} ${hasOtherPassword ? otherPassword : psk} ${namespaces[place]}`
    : `world ap off x x ${namespaces[place]}`;
};

/** The commands from one world to the next; without `before` all of them, for a machine that has just booted. */
export function commandsOf(world: WalkWorld, before: WalkWorld | undefined): string[] {
  const changed = places.filter((place) => {
    const [now, then] = [world[place], before?.[place]];
    const keys = ['isOn', 'hasOtherPassword', 'answersDhcp'] as const;
    return !then || keys.some((key) => now[key] !== then[key]);
  });
  // The machine has to join again to notice that DHCP is silent.
  const restarted = changed.filter((place) => world[place].answersDhcp !== (before?.[place].answersDhcp ?? true));
  return [
    ...(before ? [] : [portalCommand, 'world uplink on']),
    ...restarted.map((place) => `world ap off x x ${namespaces[place]}`),
    rulesCommand(world),
    ...(restarted.length > 0 ? ['sleep 10'] : []),
    ...changed.map((place) => powerCommand(world, place)),
    `world cable ${world.isCableIn ? 'on' : 'off'}`,
  ];
}

/** Repeats what fails: a lost command is not a fault of the machine. */
export async function makeReal(machine: VirtualMachine, world: WalkWorld, before?: WalkWorld): Promise<void> {
  let last = '';
  for (let attempt = 0; attempt < 4; attempt += 1) {
    const script = `set -e\n${commandsOf(world, attempt === 0 ? before : undefined).join('\n')}`;
    const { code, stdout, stderr } = await machine.exec(script, 180);
    if (code === 0) return;
    last = `${stdout}${stderr}`;
    await systemClock.sleep(5_000);
  }
  throw new Error(`the lab cannot make the world of the walk real:\n${last}`);
}

export async function reboot(machine: VirtualMachine): Promise<void> {
  const boot = await machine.bootId();
  await machine.exec('systemctl reboot --no-block', 30);
  await eventually('the machine has booted again', 900, async () => {
    const now = await machine.bootId().catch(() => boot); // it does not answer while it boots
    return now === boot ? undefined : true;
  });
  await eventually('the surroundings are up', 600, async () =>
    (await machine.exec('systemctl start lab-world', 300)).code === 0 ? true : undefined,
  );
}

/** Whether a phone that joins this access point reaches the management server; undefined: it cannot join. */
export async function phoneReaches(machine: VirtualMachine, place: Place): Promise<boolean | undefined> {
  const { ssid, psk } = networks[place];
  for (let attempt = 0; attempt < 3; attempt += 1) {
    if ((await machine.exec(`world phone join ${ssid} ${psk}`, 120)).code !== 0) continue;
    const { code } = await machine.exec(
      'world phone curl -fsSk -o /dev/null -m 30 https://app.platform.test/livez || world phone curl -fsSk -o /dev/null -m 30 https://app.platform.test/livez; r=$?; world phone leave; exit $r',
      120,
    );
    return code === 0;
  }
  await machine.exec('world phone leave', 60);
  return undefined;
}
