// What stands around a machine with radios, seen from outside: which radio sends a network, which stations joined an
// access point in which order; and surroundings that few homes have: a second radio, IPv6 only.
import { hotspot } from './factory-device.ts';
import { eventually, type VirtualMachine } from './machine.ts';
import { portalCommand, rulesCommand } from './walk/surroundings.ts';
import type { Place, WalkWorld } from './walk/world.ts';

/** Addresses of the lab's radios. `second`: the one of the second access point. */
export const radios = { device: '02:00:00:00:00:00', second: '02:00:00:00:03:00' } as const;

const accessPoints = {
  home: { namespace: 'router', interface: 'wlan1' },
  cafe: { namespace: 'cafe', interface: 'wlan3' },
} as const;

/**
 * Gives the radio of the second access point to the device, under a name that the lab does not hide from its
 * NetworkManager. @returns the name
 */
export async function giveSecondRadio(machine: VirtualMachine): Promise<'wlan9'> {
  await machine.must(
    `set -e
ip -n cafe link set wlan3 down
ip -n cafe link set wlan3 name wlan9
ip netns exec cafe sh -c 'iw phy "$(cat /sys/class/net/wlan9/phy80211/name)" set netns 1'
for i in $(seq 100); do [ -e /sys/class/net/wlan9 ] && exit 0; sleep .1; done
exit 1`,
    60,
  );
  return 'wlan9';
}

/** The radio that sends the hotspot, by a scan of the phone. */
export const hotspotRadio = (machine: VirtualMachine, seconds: number): Promise<string> =>
  eventually('the phone sees the hotspot', seconds, async () => {
    const scan = 'ip link set wlan2 up; iw dev wlan2 scan freq 2412 2437 2462 5180 flush passive';
    const { stdout } = await machine.exec(`world phone sh -c '${scan}'`, 60);
    const sent = stdout.split(/^BSS /m).find((text) => text.includes(`SSID: ${hotspot.ssid}\n`));
    return sent?.slice(0, radios.device.length);
  });

/** Whether the station is associated and authorized at the access point, by the access point. */
export async function isStationOf(machine: VirtualMachine, place: Place, address: string): Promise<boolean> {
  const at = accessPoints[place];
  const { stdout } = await machine.exec(
    `ip netns exec ${at.namespace} iw dev ${at.interface} station get ${address}`,
    60,
  );
  return /authorized:\s+yes/.test(stdout);
}

/** Records from now on which access points the device associates with, also without success. */
export async function recordAssociations(machine: VirtualMachine): Promise<void> {
  for (const [place, { namespace }] of Object.entries(accessPoints))
    await machine.must(
      `setsid ip netns exec ${namespace} stdbuf -oL iw event -t > /run/associations-${place} 2>&1 < /dev/null & sleep 1`,
    );
}

/** The access points in the order of the associations; several in a row with one count once. */
export async function associations(machine: VirtualMachine): Promise<Place[]> {
  const lines = (await machine.must('grep -H "new station" /run/associations-* || true')).split('\n');
  const events = lines.flatMap((line) => {
    const found = /associations-(home|cafe):([\d.]+).*new station ([\da-f:]+)/.exec(line);
    return found?.[3] === radios.device ? [{ place: found[1] as Place, at: Number(found[2]) }] : [];
  });
  const order = events.toSorted((a, b) => a.at - b.at).map(({ place }) => place);
  return order.filter((place, index) => place !== order[index - 1]);
}

/** Makes what is behind the access points as this world says; they themselves stay as they are. */
export const behind = (machine: VirtualMachine, world: WalkWorld): Promise<string> =>
  machine.must([portalCommand, rulesCommand(world)].join('\n'), 60);

/** The home router gives IPv6 addresses only, by router advertisements; the management server has an IPv6 address. */
export const giveOnlyIpv6 = (machine: VirtualMachine): Promise<string> =>
  machine.must(
    `set -e
ip -n router addr add fd00:50::1/64 dev br0 nodad
cat > /run/world/dns.d/ipv6.conf <<'CONF'
enable-ra
dhcp-range=fd00:50::,ra-stateless,64,10m
dhcp-option=option6:dns-server,[fd00:50::1]
address=/platform.test/fd00:50::1
CONF
for port in 80 443; do
  setsid ip netns exec router socat TCP6-LISTEN:$port,bind=[fd00:50::1],fork,reuseaddr TCP4:10.0.2.100:$port < /dev/null > /dev/null 2>&1 &
done
world net ok
ip netns exec router nft -f - <<'RULES'
table netdev only6
delete table netdev only6
table netdev only6 {
  chain home {
    type filter hook ingress device "wlan1" priority 0;
    udp dport 67 drop
  }
}
RULES`,
    120,
  );
