// What is wrong beyond the home router, for all access points at once: the management server alone is away, or connections
// that were there before are lost. `behind` in radio-rows.ts does what concerns one access point.
import type { VirtualMachine } from './machine.ts';

/** The management server, as the lab's router reaches it. */
const server = '10.0.2.100';

const forwarding = (table: string, rule: string): string => `ip netns exec router nft -f - <<'RULES'
table ip ${table}
delete table ip ${table}
table ip ${table} {
  chain out {
    type filter hook forward priority 0;
    ${rule}
  }
}
RULES`;

/**
 * The name of the management server gets an authority beyond the router, which says by its SOA record that another name
 * does not exist. Without it the router makes up all answers itself, as one without internet does.
 */
export const giveAuthority = (machine: VirtualMachine): Promise<string> =>
  machine.must(
    `set -e
ip netns exec router dnsmasq --conf-file=/dev/null --pid-file=/run/world/authority.pid --port=5354 \\
  --listen-address=127.0.0.1 --bind-interfaces --no-resolv --no-hosts \\
  --auth-server=ns.platform.test,127.0.0.1 --auth-zone=app.platform.test --host-record=app.platform.test,${server}
echo 'server=/app.platform.test/127.0.0.1#5354' > /run/world/dns.d/authority.conf
world net ok`,
    120,
  );

/** Packets to the management server are swallowed; everything else works. */
export const takeServerAway = (machine: VirtualMachine, isAway: boolean): Promise<string> =>
  machine.must(forwarding('away', isAway ? `ip daddr ${server} drop` : ''), 60);

/** The connections that the device has now carry nothing any more; new ones work. */
export const loseConnections = (machine: VirtualMachine): Promise<string> =>
  machine.must(
    `ports=$(ss -Htn dst ${server} | awk '{ sub(/.*:/, "", $4); print $4 }' | paste -sd,)
[ -z "$ports" ] || ip netns exec router nft -f - <<RULES
table ip lost {
  chain out {
    type filter hook forward priority 0;
    ip daddr ${server} tcp sport { $ports } drop
  }
}
RULES`,
    60,
  );
