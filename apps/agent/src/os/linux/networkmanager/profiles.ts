// Profiles of NetworkManager: https://networkmanager.dev/docs/api/latest/ref-settings.html
import type { Eap, NewProfile, ProfileMark, SavedProfile } from '../../network-port.ts';
import { type DBusValue, Variant } from '../dbus/values.ts';
import { bytesIn, flagIn, numberIn, type Properties, propertiesOf, sectionIn, textIn, textsIn } from '../dbus/read.ts';
import { ssidText } from './objects.ts';

/** Sections with their properties, in the type a{sa{sv}}. */
export type Settings = ReadonlyMap<string, ReadonlyMap<string, Variant>>;
type Section = Readonly<Record<string, Variant | undefined>>;

/** Key in the user data of a profile that this agent made; NetworkManager demands the dots. */
/** Key of the mark in the user data of a profile, also in its file. */
export const markKey = 'org.platform.mark';
const wifiType = '802-11-wireless';
const wiredType = '802-3-ethernet';

const string = (value: string): Variant => new Variant('s', value);
const bool = (value: boolean): Variant => new Variant('b', value);
const int = (value: number): Variant => new Variant('i', value);
const bytes = (value: Uint8Array): Variant => new Variant('ay', value);
const strings = (value: readonly string[]): Variant => new Variant('as', value);
const textOr = (value: string): Variant | undefined => (value === '' ? undefined : string(value));

function settings(sections: Readonly<Record<string, Section | undefined>>): Settings {
  const present = (section: Section): [string, Variant][] =>
    Object.entries(section).flatMap(([name, value]): [string, Variant][] => (value ? [[name, value]] : []));
  return new Map(
    Object.entries(sections).flatMap(([name, section]) => (section ? [[name, new Map(present(section))]] : [])),
  );
}

const markSection = (mark: ProfileMark): Section => ({
  data: new Variant('a{ss}', new Map([[markKey, JSON.stringify(mark)]])),
});

/** A DNS server as NetworkManager stores it: the bytes of the address, read as a little-endian number. */
const addressNumber = (address: string): number => {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  return (a | (b << 8) | (c << 16) | (d << 24)) >>> 0;
};
const isIpv4 = (address: string): boolean => /^\d+\.\d+\.\d+\.\d+$/.test(address);

/** A static address that another host uses must not be taken. */
const duplicateCheckMs = 3_000;
/** NetworkManager retries for ever: no user is there to start it again. */
const forever = 0;

function ipv4Section({ ipv4, dns, routeMetric }: NewProfile): Section {
  const servers = dns.filter(isIpv4).map(addressNumber);
  const shared = {
    'route-metric': new Variant('x', BigInt(routeMetric)),
    dns: servers.length > 0 ? new Variant('au', servers) : undefined,
  };
  if (!ipv4) return { ...shared, method: string('auto') };
  const [address = '', prefix = ''] = ipv4.address.split('/');
  return {
    ...shared,
    method: string('manual'),
    'address-data': addressData(address, Number(prefix)),
    gateway: textOr(ipv4.gateway),
    'dad-timeout': int(duplicateCheckMs),
  };
}

const addressData = (address: string, prefix: number): Variant =>
  new Variant('aa{sv}', [
    new Map([
      ['address', string(address)],
      ['prefix', new Variant('u', prefix)],
    ]),
  ]);

/** How an access point wants to be joined, as far as the radio knows. */
export interface SeenAs {
  ssid: Uint8Array;
  isOnlySae: boolean;
  isOwe: boolean;
}

function wifiSections({ wifi }: NewProfile, seenAs: SeenAs): Readonly<Record<string, Section | undefined>> {
  if (!wifi) return { [wiredType]: {} };
  const { security } = wifi;
  const section: Section = {
    ssid: bytes(seenAs.ssid),
    mode: string('infrastructure'),
    hidden: wifi.isHidden ? bool(true) : undefined,
  };
  const name = '802-11-wireless-security';
  if (security.is === 'psk')
    return { [wifiType]: section, [name]: { 'key-mgmt': string(pskKind(seenAs)), psk: string(security.psk) } };
  if (security.is === 'eap')
    return { [wifiType]: section, [name]: { 'key-mgmt': string('wpa-eap') }, '802-1x': eapSection(security.eap) };
  return { [wifiType]: section, ...(seenAs.isOwe && { [name]: { 'key-mgmt': string('owe') } }) };
}

/** "wpa-psk" also joins an access point that offers both, but not one that offers WPA3 only. */
const pskKind = ({ isOnlySae }: SeenAs): string => (isOnlySae ? 'sae' : 'wpa-psk');

const noPasswordNeeded = 4;

function eapSection(eap: Eap): Section {
  const pem = (text: string): Variant | undefined => (text === '' ? undefined : bytes(Buffer.from(text)));
  const isTls = eap.method === 'tls';
  return {
    eap: strings([eap.method]),
    identity: string(eap.identity),
    'anonymous-identity': textOr(eap.anonymousIdentity),
    'ca-cert': pem(eap.authority),
    'system-ca-certs': eap.authority === '' ? bool(true) : undefined,
    'domain-match': textOr(eap.serverName),
    ...(!isTls && { [innerKey(eap)]: string(eap.innerMethod), password: string(eap.password) }),
    ...(isTls && {
      'client-cert': pem(eap.clientCertificate),
      'private-key': pem(eap.clientKey),
      'private-key-password': textOr(eap.clientKeyPassword),
      'private-key-password-flags': eap.clientKeyPassword === '' ? int(noPasswordNeeded) : undefined,
    }),
  };
}

/** TTLS has two kinds of inner methods; gtc is of the other kind. */
const innerKey = ({ method, innerMethod }: Eap): string =>
  method === 'ttls' && innerMethod === 'gtc' ? 'phase2-autheap' : 'phase2-auth';

export function profileSettings(profile: NewProfile, uuid: string, seenAs: SeenAs): Settings {
  const metric = new Variant('x', BigInt(profile.routeMetric));
  return settings({
    connection: {
      id: string(profile.name),
      uuid: string(uuid),
      type: string(profile.type === 'wifi' ? wifiType : wiredType),
      'interface-name': textOr(profile.interface),
      autoconnect: bool(profile.isAutoconnect),
      'autoconnect-priority': int(profile.priority),
      'autoconnect-retries': int(forever),
    },
    ...wifiSections(profile, seenAs),
    ipv4: ipv4Section(profile),
    ipv6: { method: string('auto'), 'route-metric': metric },
    user: markSection(profile.mark),
  });
}

export function hotspotSettings(of: {
  uuid: string;
  interface: string;
  ssid: string;
  password: string;
  address: string;
  prefix: number;
  band: 'bg' | 'a';
  /** Undefined: NetworkManager chooses. */
  channel: number | undefined;
}): Settings {
  return settings({
    connection: {
      id: string(`hotspot@${of.interface}`),
      uuid: string(of.uuid),
      type: string(wifiType),
      'interface-name': string(of.interface),
      autoconnect: bool(false),
    },
    [wifiType]: {
      ssid: bytes(Buffer.from(of.ssid)),
      mode: string('ap'),
      band: string(of.band),
      channel: of.channel === undefined ? undefined : new Variant('u', of.channel),
    },
    '802-11-wireless-security': {
      'key-mgmt': string('wpa-psk'),
      psk: string(of.password),
      proto: strings(['rsn']),
      pairwise: strings(['ccmp']),
      group: strings(['ccmp']),
    },
    ipv4: { method: string('shared'), 'address-data': addressData(of.address, of.prefix), 'never-default': bool(true) },
    ipv6: { method: string('disabled') },
    user: markSection({ kind: 'hotspot' }),
  });
}

function markOf(user: Properties): ProfileMark | undefined {
  const text = textIn(sectionIn(user, 'data'), markKey);
  if (text === '') return undefined;
  try {
    const mark = JSON.parse(text) as Partial<Record<string, unknown>>;
    if (mark['kind'] === 'provisioned' || mark['kind'] === 'hotspot') return { kind: mark['kind'] };
    const { name, digest } = mark;
    if (mark['kind'] === 'additional' && typeof name === 'string' && typeof digest === 'string')
      return { kind: 'additional', name, digest };
  } catch {
    // edited by a user: no longer the agent's
  }
  return undefined;
}

const types = new Map<string, SavedProfile['type']>([
  [wifiType, 'wifi'],
  [wiredType, 'wired'],
  ['bluetooth', 'bluetooth'],
]);

export function savedProfile(value: DBusValue | undefined): SavedProfile {
  const all = propertiesOf(value);
  const connection = sectionIn(all, 'connection');
  const wireless = sectionIn(all, wifiType);
  return {
    uuid: textIn(connection, 'uuid'),
    name: textIn(connection, 'id'),
    type: types.get(textIn(connection, 'type')) ?? 'other',
    ssid: ssidText(bytesIn(wireless, 'ssid')),
    interface: textIn(connection, 'interface-name'),
    priority: numberIn(connection, 'autoconnect-priority'),
    isAutoconnect: flagIn(connection, 'autoconnect', true),
    isHidden: flagIn(wireless, 'hidden', false),
    isHotspot: textIn(wireless, 'mode') === 'ap',
    mark: markOf(sectionIn(all, 'user')),
  };
}

/** The SSID of a profile as bytes. */
export const ssidIn = (value: DBusValue | undefined): Uint8Array =>
  bytesIn(sectionIn(propertiesOf(value), wifiType), 'ssid');

/** How the profile's network is secured, in the words of NetworkManager; empty: open. */
export const keyManagementIn = (value: DBusValue | undefined): string =>
  textIn(sectionIn(propertiesOf(value), '802-11-wireless-security'), 'key-mgmt');

/** How the profile signs in to an enterprise network; empty: it does not. */
export const eapMethodIn = (value: DBusValue | undefined): string =>
  textsIn(sectionIn(propertiesOf(value), '802-1x'), 'eap')[0] ?? '';

/** Files in which NetworkManager keeps certificates and keys of this profile; not those that a user names in it. */
export function certificateFilesIn(value: DBusValue | undefined, uuid: string): readonly string[] {
  const section = sectionIn(propertiesOf(value), '802-1x');
  const own = new RegExp(`^file://(/etc/NetworkManager/system-connections/${uuid}-[a-z-]+\\.(?:pem|der))\0?$`);
  return ['ca-cert', 'client-cert', 'private-key'].flatMap((key) => {
    const [, file] = own.exec(Buffer.from(bytesIn(section, key)).toString()) ?? [];
    return file === undefined || uuid === '' ? [] : [file];
  });
}

/**
 * The settings of a profile that was read, with changes. Undefined removes a property. NetworkManager keeps the secrets,
 * which it does not return, and refuses its own deprecated forms of addresses.
 */
function changedSettings(
  value: DBusValue | undefined,
  changes: Readonly<Record<string, Readonly<Record<string, Variant | undefined>>>>,
): Settings {
  const changed = new Map<string, Map<string, Variant>>();
  for (const [name, section] of propertiesOf(value)) {
    const properties = new Map(
      [...propertiesOf(section)].filter((entry): entry is [string, Variant] => entry[1] instanceof Variant),
    );
    if (name === 'ipv4' || name === 'ipv6') for (const old of ['addresses', 'routes']) properties.delete(old);
    changed.set(name, properties);
  }
  for (const [name, section] of Object.entries(changes)) {
    const properties = changed.get(name) ?? new Map<string, Variant>();
    for (const [key, property] of Object.entries(section)) {
      if (property) properties.set(key, property);
      else properties.delete(key);
    }
    changed.set(name, properties);
  }
  return changed;
}

export const withPriority = (value: DBusValue | undefined, priority: number): Settings =>
  changedSettings(value, { connection: { 'autoconnect-priority': int(priority) } });

export const withAutoconnect = (value: DBusValue | undefined, isAutoconnect: boolean): Settings =>
  changedSettings(value, { connection: { autoconnect: bool(isAutoconnect) } });

export const withoutMark = (value: DBusValue | undefined): Settings => {
  const data = new Map(sectionIn(sectionIn(propertiesOf(value), 'user'), 'data'));
  data.delete(markKey);
  return changedSettings(value, { user: { data: new Variant('a{ss}', data) } });
};

export const withKeyManagement = (value: DBusValue | undefined, name: string): Settings =>
  changedSettings(value, { '802-11-wireless-security': { 'key-mgmt': string(name) } });
