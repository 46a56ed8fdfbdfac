// What the kernel lets the radios do, by nl80211. Its numbers are those of <linux/nl80211.h>.
import { readFile } from 'node:fs/promises';
import { genericNetlink, type KernelExchange } from './libc.ts';
import {
  type Attribute,
  attributesIn,
  controller,
  encodeRequest,
  flag,
  isLastAnswer,
  NetlinkError,
  number,
  numberOf,
  type Reply,
  repliesIn,
  type Request,
  text,
  textOf,
  valueOf,
} from './netlink.ts';

export interface RadioChannel {
  frequencyMhz: number;
  /** An access point may start here: allowed, without listening for others first, and without radar detection. */
  mayStart: boolean;
  /** Allowed in buildings only. */
  isIndoorOnly: boolean;
}

/** The rules that the kernel makes the radios obey. */
export interface RadioRules {
  /** Country code; 00: no country is known; 98: the rules of two at once; empty: the kernel has no radios. */
  country(): Promise<string>;
  /** Asks for the rules of a country, or of 00. The kernel follows some time later, or never, and does not say. */
  askFor(country: string): Promise<void>;
  /** The country that the firmware of this radio decides by itself; empty: it obeys the kernel. */
  ownCountry(interfaceName: string): Promise<string>;
  /** Whether this radio saves power; undefined: its driver does not say. */
  isPowerSaving(interfaceName: string): Promise<boolean | undefined>;
  /** Channels of this radio that are not forbidden; empty: not known. */
  channels(interfaceName: string): Promise<readonly RadioChannel[]>;
  /** Clients that are connected to the access point of this interface; undefined: not known. */
  clients(interfaceName: string): Promise<number | undefined>;
}

const familyName = 'nl80211';
const command = { getRadio: 1, getStation: 17, askForCountry: 27, getCountry: 31, getPowerSave: 62 } as const;
const attribute = {
  radio: 1,
  interface: 3,
  bands: 22,
  country: 33,
  powerSave: 93,
  split: 174,
  isSelfManaged: 216,
} as const;
const bandAttribute = { frequencies: 1 } as const;
const frequency = { mhz: 1, isDisabled: 2, isListenOnly: 3, needsRadarDetection: 5, isIndoorOnly: 14 } as const;
const noEntry = 2;

type Ask = (of: Request) => Promise<readonly Reply[]>;
type Family = () => Promise<number | undefined>;

/** Number of the family; undefined: no driver of a radio is loaded. */
async function familyBy(ask: Ask): Promise<number | undefined> {
  const attributes = [text(controller.familyName, familyName)];
  try {
    const [reply] = await ask({ family: controller.family, command: controller.getFamily, attributes });
    return numberOf(reply?.attributes ?? [], controller.familyId);
  } catch (error) {
    if (error instanceof NetlinkError && error.code === noEntry) return undefined;
    throw error;
  }
}

/** Index of an interface; 0: there is none of this name. */
const indexOf = async (name: string): Promise<number> =>
  Number(await readFile(`/sys/class/net/${name}/ifindex`, 'utf8').catch(() => '0'));

async function powerSavingBy(ask: Ask, family: Family, name: string): Promise<boolean | undefined> {
  const id = await family();
  const index = await indexOf(name);
  if (id === undefined || index === 0) return undefined;
  const attributes = [number(attribute.interface, index)];
  const [reply] = await ask({ family: id, command: command.getPowerSave, attributes });
  const state = numberOf(reply?.attributes ?? [], attribute.powerSave);
  return state === undefined ? undefined : state === 1;
}

async function clientsBy(ask: Ask, family: Family, name: string): Promise<number | undefined> {
  const id = await family().catch(() => undefined);
  const index = await indexOf(name);
  if (id === undefined || index === 0) return undefined;
  const attributes = [number(attribute.interface, index)];
  return ask({ family: id, command: command.getStation, isDump: true, attributes }).then(
    (stations) => stations.length,
    () => undefined,
  );
}

export function kernelRadioRules(connect: () => Promise<KernelExchange> = genericNetlink): RadioRules {
  let opened: Promise<KernelExchange> | undefined;
  const ask: Ask = async (of) => {
    opened ??= connect().catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    const exchange = await opened;
    return repliesIn(exchange(encodeRequest(of), isLastAnswer), of.family);
  };
  const family: Family = () => familyBy(ask);
  const rulesOf = async (id: number, attributes: readonly Attribute[] = []): Promise<readonly Attribute[]> => {
    const [reply] = await ask({ family: id, command: command.getCountry, attributes });
    return reply?.attributes ?? [];
  };
  const radio = async (name: string, id: number): Promise<readonly Reply[]> => {
    const index = await indexOf(name);
    if (index === 0) return [];
    const attributes = [number(attribute.interface, index), flag(attribute.split)];
    return ask({ family: id, command: command.getRadio, isDump: true, attributes });
  };
  return {
    async country() {
      const id = await family();
      return id === undefined ? '' : textOf(await rulesOf(id), attribute.country);
    },
    async askFor(country) {
      const id = await family();
      if (id !== undefined)
        await ask({ family: id, command: command.askForCountry, attributes: [text(attribute.country, country)] });
    },
    async ownCountry(name) {
      const id = await family();
      if (id === undefined) return '';
      const [first] = await radio(name, id);
      const index = numberOf(first?.attributes ?? [], attribute.radio);
      if (index === undefined) return '';
      const rules = await rulesOf(id, [number(attribute.radio, index)]);
      return valueOf(rules, attribute.isSelfManaged) ? textOf(rules, attribute.country) : '';
    },
    isPowerSaving: (name) => powerSavingBy(ask, family, name),
    async channels(name) {
      const id = await family();
      return id === undefined ? [] : channelsIn(await radio(name, id));
    },
    clients: (name) => clientsBy(ask, family, name),
  };
}

/** A radio is described by many replies; each has some of its channels. */
export function channelsIn(replies: readonly Reply[]): readonly RadioChannel[] {
  const nested = (attributes: readonly Attribute[], type: number): readonly Attribute[] =>
    attributes.filter((one) => one.type === type).flatMap(({ value }) => attributesIn(value));
  const bands = replies.flatMap(({ attributes }) => nested(attributes, attribute.bands));
  const frequencies = bands.flatMap(({ value }) => nested(attributesIn(value), bandAttribute.frequencies));
  return frequencies.flatMap(({ value }) => {
    const of = attributesIn(value);
    const has = (type: number): boolean => valueOf(of, type) !== undefined;
    const frequencyMhz = numberOf(of, frequency.mhz);
    if (frequencyMhz === undefined || has(frequency.isDisabled)) return [];
    const mayStart = !has(frequency.isListenOnly) && !has(frequency.needsRadarDetection);
    return [{ frequencyMhz, mayStart, isIndoorOnly: has(frequency.isIndoorOnly) }];
  });
}
