import path from 'node:path';
import { mkdir, rm } from 'node:fs/promises';
import type { Clock } from '@platform/kit';
import { atomicWrite, readJson } from '@platform/kit/node';
import type { RadioRules } from './radio-rules.ts';

const recordFile = 'state/wifi-country.json';
/** The kernel looks its rules up after the call. */
const takesMs = 3_000;
const pollMs = 100;
const worldwide = '00';
/** The rules of two countries at once: that of the access point, and the requested one. */
const intersection = '98';

/** What stood there before the first change; kept until it is given back. */
interface CountryRecord {
  before: string;
  set: string;
}

export interface WifiCountryParts {
  /** Folder of the agent, for the record. */
  root: string;
  rules: RadioRules;
  clock: Clock;
}

export interface WifiCountry {
  /**
   * Makes the radios obey the rules of a country; empty: those before the first call.
   *
   * @param radios - interfaces that have to obey
   * @param isConnected - by WiFi: the rules in effect may be those that the access point announces
   * @returns why they do not, as a clause; empty: they do, or there is no radio
   */
  set(country: string, radios: readonly string[], isConnected: boolean): Promise<string>;
}

/** The kernel forgets the country at a reboot, and the agent sets it again. Decision 0059. */
export function wifiCountry(parts: WifiCountryParts): WifiCountry {
  let last: Promise<unknown> = Promise.resolve();
  return {
    set: (country, radios, isConnected) => {
      const next = last.then(() => (country === '' ? giveBack(parts) : apply(country, radios, isConnected, parts)));
      last = next.catch(() => {});
      return next;
    },
  };
}

async function apply(
  country: string,
  radios: readonly string[],
  isConnected: boolean,
  parts: WifiCountryParts,
): Promise<string> {
  const { rules, root } = parts;
  const found = await rules.country();
  if (found === '') return '';
  if (found !== country && found !== intersection) {
    const known = await readRecord(root);
    const before = known?.before ?? (isConnected ? worldwide : settable(found));
    if (known?.set !== country) await writeRecord(root, { before, set: country });
    await rules.askFor(country);
    await until(country, parts);
  }
  const now = await rules.country();
  if (now !== country && now !== intersection) return whyNot(now, isConnected);
  for (const name of radios) {
    const own = await rules.ownCountry(name);
    if (own !== '' && own !== country) return `the firmware of ${name} decides by itself, and obeys ${own}`;
  }
  return '';
}

const whyNot = (now: string, isConnected: boolean): string => {
  if (now === worldwide) return 'the kernel has no rules for this country';
  return `${isConnected ? 'the access point announces another country, or the kernel refuses:' : 'the kernel refuses:'} ${now} is in effect`;
};

const settable = (country: string): string => (/^[A-Z]{2}$/.test(country) ? country : worldwide);

async function giveBack(parts: WifiCountryParts): Promise<string> {
  const { rules, root } = parts;
  const record = await readRecord(root);
  if (!record) return '';
  // Another program has set a third country meanwhile: that one stays.
  const now = await rules.country();
  if (now === record.set || now === intersection) {
    await rules.askFor(record.before);
    await until(record.before, parts);
  }
  await rm(path.join(root, recordFile), { force: true });
  return '';
}

async function until(country: string, { rules, clock }: WifiCountryParts): Promise<void> {
  for (const end = clock.now() + takesMs; clock.now() < end; await clock.sleep(pollMs)) {
    const now = await rules.country();
    if (now === country || now === intersection) return;
  }
}

async function readRecord(root: string): Promise<CountryRecord | undefined> {
  const found = await readJson(path.join(root, recordFile)).catch(() => undefined);
  const { before, set } = (found ?? {}) as Partial<CountryRecord>;
  return typeof before === 'string' && typeof set === 'string' ? { before: settable(before), set } : undefined;
}

async function writeRecord(root: string, record: CountryRecord): Promise<void> {
  const file = path.join(root, recordFile);
  await mkdir(path.dirname(file), { recursive: true });
  await atomicWrite(file, `${JSON.stringify(record)}\n`, { mode: 0o600 });
}
