import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { FakeClock, tempFolder } from '@platform/kit/testing';
import type { RadioRules } from './radio-rules.ts';
import { wifiCountry, type WifiCountry } from './wifi-country.ts';

/** The kernel's rules: a country takes some time, and only known ones are taken. */
class Kernel implements RadioRules {
  now = '00';
  known = ['00', 'DE', 'US', 'GB'];
  own = '';
  asked: string[] = [];
  readonly #clock: FakeClock;
  constructor(clock: FakeClock) {
    this.#clock = clock;
  }
  country = async (): Promise<string> => this.now;
  ownCountry = async (): Promise<string> => this.own;
  isPowerSaving = async () => undefined;
  channels = async () => [];
  clients = async (): Promise<undefined> => undefined;
  async askFor(country: string): Promise<void> {
    this.asked.push(country);
    if (this.known.includes(country)) void this.#clock.sleep(250).then(() => (this.now = country));
  }
}

interface World {
  kernel: Kernel;
  record: string;
  /** An agent that starts. */
  start(): WifiCountry;
  /** Runs to its end. */
  set(country: string, isConnected?: boolean): Promise<string>;
}

/** A story on a kernel. */
function on(name: string, tell: (world: World) => Promise<void>): void {
  test(name, async () => {
    await using folder = await tempFolder();
    const clock = new FakeClock();
    const kernel = new Kernel(clock);
    const start = (): WifiCountry => wifiCountry({ root: folder.path, rules: kernel, clock });
    let agent = start();
    await tell({
      kernel,
      record: folder.file('state/wifi-country.json'),
      start: () => (agent = start()),
      async set(country, isConnected = false) {
        const over = new AbortController();
        const work = agent.set(country, ['wlan0'], isConnected).finally(() => over.abort());
        // Files are read in real time, so this cannot count.
        while (!over.signal.aborted) await clock.advance(50);
        return work;
      },
    });
  });
}

on('a country is set, kept over a reboot, changed and given back', async ({ kernel, record, start, set }) => {
  kernel.now = 'GB';
  assert.equal(await set('DE'), '');
  assert.equal(kernel.now, 'DE');
  assert.equal(await set('DE'), '');
  assert.deepEqual(kernel.asked, ['DE'], 'what is in effect is not asked for again');
  kernel.now = '00'; // a reboot
  start();
  assert.equal(await set('DE'), '');
  assert.equal(await set('US'), '');
  assert.equal(kernel.now, 'US');
  start();
  assert.equal(await set(''), '');
  assert.equal(kernel.now, 'GB', 'what stood there before the first change');
  assert.equal(existsSync(record), false);
  await set('');
  assert.deepEqual(kernel.asked, ['DE', 'DE', 'US', 'GB']);
});

on('a country that stood there before is nothing to give back', async ({ kernel, record, set }) => {
  kernel.now = 'DE';
  assert.equal(await set('DE'), '');
  assert.equal(existsSync(record), false);
  await set('');
  assert.deepEqual([kernel.asked, kernel.now], [[], 'DE']);
});

on('a country that the kernel does not know is reported', async ({ kernel, set }) => {
  assert.equal(await set('XX'), 'the kernel has no rules for this country');
  kernel.now = 'GB';
  assert.equal(await set('XX'), 'the kernel refuses: GB is in effect');
  assert.match(await set('XX', true), /access point announces another country.* GB is in effect/);
  assert.equal(await set('DE'), '');
});

on('the rules of the access point beside those of the country are obedience', async ({ kernel, set }) => {
  kernel.now = '98';
  assert.equal(await set('DE', true), '');
  assert.deepEqual(kernel.asked, []);
});

on('what an access point announced is not what stood there before', async ({ kernel, set }) => {
  kernel.now = 'US';
  assert.equal(await set('DE', true), '');
  await set('');
  assert.equal(kernel.now, '00');
});

on('a country that another program has set since is left alone', async ({ kernel, record, set }) => {
  await set('DE');
  kernel.now = 'US';
  await set('');
  assert.deepEqual([kernel.asked, kernel.now], [['DE'], 'US']);
  assert.equal(existsSync(record), false);
});

on('a radio whose firmware decides is named; one that decides the same is not', async ({ kernel, set }) => {
  kernel.own = 'US';
  assert.equal(await set('DE'), 'the firmware of wlan0 decides by itself, and obeys US');
  assert.equal(await set('US'), '');
});

on('a machine without radios obeys no country, and none is recorded', async ({ kernel, record, set }) => {
  kernel.now = '';
  assert.equal(await set('DE'), '');
  assert.deepEqual([kernel.asked, existsSync(record)], [[], false]);
});
