// The surroundings of a machine with radios: home router, second access point, phone, cable. They are namespaces in the
// machine itself; `world` (guest/usr/local/sbin/world) controls them.
import { type CommandResult, eventually, type VirtualMachine } from './machine.ts';

/** `router`: the home router, which leads to the management server. `cafe`: a second access point. */
type Place = 'router' | 'cafe';

type Security =
  | { is: 'open' }
  | { is: 'wpa2'; psk: string }
  | { is: 'wpa3'; psk: string }
  /** Folder on the machine with the files of `authenticationServer`. */
  | { is: 'enterprise'; folder: string };

export interface AccessPoint {
  ssid: string;
  security: Security;
  isHidden?: boolean;
  /** 36: 5 GHz; absent: 6. */
  channel?: number;
}

/** Faults of the internet behind a WiFi network that itself works. */
type InternetFault = 'ok' | 'nodns' | 'dnsfail' | 'dnsempty' | 'captive' | 'blackhole' | 'reject' | 'slow' | 'lossy';

/** The network of the lab's home router, as it is after a boot. */
export const home = { ssid: 'HomeNet', security: { is: 'wpa2', psk: 'homepass123' } } as const satisfies AccessPoint;

export interface PhoneAnswer {
  status: number;
  /** URL after redirects. */
  url: string;
  body: string;
}

export interface Phone {
  /** SSIDs of visible networks. */
  sees(): Promise<string[]>;
  /** @returns true if it is associated and has an address */
  join(ssid: string, psk: string): Promise<boolean>;
  leave(): Promise<void>;
  /** Resolves names by the network that it joined; follows redirects; keeps cookies. */
  get(url: string): Promise<PhoneAnswer>;
  /** Posts a form with the Origin of the URL, as browsers do. Does not follow a redirect. */
  post(url: string, fields: Readonly<Record<string, string>>): Promise<PhoneAnswer>;
  /** Addresses of a name, by the name server of the network that it joined; empty: none. */
  lookUp(name: string): Promise<string[]>;
}

export interface World {
  /** Starts an access point in place of the one that is there. */
  accessPoint(at: Place, of: AccessPoint): Promise<void>;
  /** Switches the access point off. */
  silence(at: Place): Promise<void>;
  /** Connects the second access point to the home router: it then leads to the management server, too. */
  uplink(isIn: boolean): Promise<void>;
  internet(fault: InternetFault): Promise<void>;
  cable(isIn: boolean): Promise<void>;
  /** Connections to this port of the home router go out of the phone to an address. Ends with the machine. */
  relay(routerPort: number, to: string): Promise<void>;
  readonly phone: Phone;
}

/** Quotes for a POSIX shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

export function worldOf(machine: VirtualMachine): World {
  const world = (command: string, env: Readonly<Record<string, string>> = {}): Promise<string> => {
    const set = Object.entries(env).map(([name, value]) => `${name}=${quoted(value)} `);
    return machine.must(`${set.join('')}world ${command}`, 120);
  };
  return {
    accessPoint: async (at, { ssid, security, isHidden = false, channel = 6 }) => {
      const lines = [...linesOf(security), ...(channel > 14 ? ['hw_mode=a', 'ieee80211n=1', 'country_code=DE'] : [])];
      if (isHidden) lines.push('ignore_broadcast_ssid=1');
      const psk = security.is === 'wpa2' ? security.psk : '';
      await world(`ap on ${quoted(ssid)} ${quoted(psk)} ${at}`, { CH: String(channel), AP_EXTRA: lines.join('\n') });
    },
    silence: async (at) => void (await world(`ap off x x ${at}`)),
    uplink: async (isIn) => void (await world(`uplink ${isIn ? 'on' : 'off'}`)),
    internet: async (fault) => void (await world(`net ${fault}`)),
    cable: async (isIn) => void (await world(`cable ${isIn ? 'on' : 'off'}`)),
    relay: async (routerPort, to) => {
      const out = quoted(`EXEC:ip netns exec phone socat - TCP\\:${to.replace(':', String.raw`\:`)}`);
      const relaying = `setsid ip netns exec router socat TCP-LISTEN:${routerPort},fork,reuseaddr ${out}`;
      const isListening = `ip netns exec router ss -Hltn sport = :${routerPort} | grep -q .`;
      await machine.must(
        `${relaying} < /dev/null > /dev/null 2>&1 & for i in $(seq 100); do ${isListening} && exit 0; sleep .1; done; exit 1`,
      );
    },
    phone: phoneOf(machine),
  };
}

/** Lines for hostapd; `world` itself writes those of WPA2. */
function linesOf(security: Security): string[] {
  const rsn = ['wpa=2', 'rsn_pairwise=CCMP'];
  switch (security.is) {
    case 'open':
    case 'wpa2':
      return [];
    case 'wpa3':
      return [...rsn, 'wpa_key_mgmt=SAE', 'ieee80211w=2', `sae_password=${security.psk}`];
    case 'enterprise':
      return [
        ...rsn,
        'wpa_key_mgmt=WPA-EAP',
        'ieee8021x=1',
        'eap_server=1',
        `eap_user_file=${security.folder}/users`,
        `ca_cert=${security.folder}/authority.pem`,
        `server_cert=${security.folder}/server.pem`,
        `private_key=${security.folder}/server-key.pem`,
      ];
  }
}

const curl = 'world phone curl -sS --connect-timeout 5 -m 40 -b /run/phone.jar -c /run/phone.jar';
/** After the body: what the answer was. */
const writesOut = quoted(String.raw`\n%{http_code} %{url_effective}`);

function phoneOf(machine: VirtualMachine): Phone {
  const asked = async (command: string): Promise<PhoneAnswer> => answerOf(await machine.must(command, 90));
  return {
    sees: async () => {
      const scan = 'ip link set wlan2 up; iw dev wlan2 scan freq 2412 2437 2462 5180 flush passive';
      const { stdout } = await machine.exec(`world phone sh -c ${quoted(scan)}`, 60);
      return [...stdout.matchAll(/^\s*SSID: (.+)$/gm)].map(([, ssid = '']) => ssid);
    },
    join: async (ssid, psk) => (await machine.exec(`world phone join ${quoted(ssid)} ${quoted(psk)}`, 120)).code === 0,
    leave: async () => void (await machine.exec('world phone leave', 60)),
    get: (url) => asked(`${curl} -L -w ${writesOut} ${quoted(url)}`),
    post: (url, fields) => {
      const data = Object.entries(fields).map(([name, value]) => `--data-urlencode ${quoted(`${name}=${value}`)}`);
      const origin = quoted(`Origin: ${new URL(url).origin}`);
      // A radio that looks for networks hears no phone for some seconds, longer in a busy machine. Browsers wait, too.
      return asked(`${curl} --connect-timeout 30 -w ${writesOut} -H ${origin} ${data.join(' ')} ${quoted(url)}`);
    },
    lookUp: async (name) => {
      const { stdout }: CommandResult = await machine.exec(`world phone busybox nslookup -type=a ${quoted(name)}`, 30);
      const answer = stdout.slice(stdout.indexOf('\n\n'));
      return [...answer.matchAll(/^Address:\s+([\d.]+)$/gm)].map(([, address = '']) => address);
    },
  };
}

function answerOf(output: string): PhoneAnswer {
  const end = output.lastIndexOf('\n');
  const [status = '', url = ''] = output.slice(end + 1).split(' ');
  return { status: Number(status), url, body: output.slice(0, end) };
}

/** Polls until the phone sees the network, or no longer. */
export const untilSeen = (phone: Phone, ssid: string, seconds: number, isSeen = true): Promise<true> =>
  eventually(`the phone ${isSeen ? 'sees' : 'no longer sees'} ${ssid}`, seconds, async () =>
    (await phone.sees()).includes(ssid) === isSeen ? true : undefined,
  );

/** Joins with repetitions: radios in emulation miss frames. */
export const untilJoined = (phone: Phone, ssid: string, psk: string, seconds: number): Promise<true> =>
  eventually(`the phone joins ${ssid}`, seconds, async () => ((await phone.join(ssid, psk)) ? true : undefined));

/** Looks up with repetitions, for the same reason. */
export const untilResolved = (phone: Phone, name: string, address: string): Promise<true> =>
  eventually(`the phone resolves ${name} to ${address}`, 60, async () =>
    (await phone.lookUp(name)).join(' ') === address ? true : undefined,
  );
