// The rules of radios, from answers of a real kernel.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import type { KernelExchange } from '../src/os/linux/kernel/libc.ts';
import {
  type Attribute,
  attributesIn,
  encodeRequest,
  flag,
  isLastAnswer,
  NetlinkError,
  number,
  numberOf,
  repliesIn,
  text,
  textOf,
} from '../src/os/linux/kernel/netlink.ts';
import { channelsIn, kernelRadioRules } from '../src/os/linux/kernel/radio-rules.ts';
import { recordedAcknowledgement, recordedNoFamily, recordedRadio, recordedRules } from './recorded-radio.ts';

const family = 0x20;
const anyInterface = readdirSync('/sys/class/net')[0] ?? 'lo';

/** An answer of nl80211, in the form of a message of the kernel. */
function answer(command: number, attributes: readonly Attribute[], type = family): Buffer {
  const bytes = encodeRequest({ family: type, command, attributes });
  bytes.writeUInt16LE(0, 6);
  return bytes;
}

interface Asked {
  family: number;
  command: number;
  isDump: boolean;
  attributes: readonly Attribute[];
}

/** A kernel with one radio. */
function kernel(of: { rules?: Buffer; radio?: readonly Uint8Array[]; hasFamily?: boolean; own?: string }): {
  exchange: KernelExchange;
  asked: Asked[];
} {
  const { rules = recordedRules, radio = recordedRadio(), hasFamily = true, own } = of;
  const asked: Asked[] = [];
  const answersTo = (request: Asked): readonly Uint8Array[] => {
    if (request.family === 0x10)
      return hasFamily
        ? [answer(1, [{ type: 1, value: Buffer.from([family, 0]) }], 0x10), recordedAcknowledgement]
        : [recordedNoFamily];
    if (request.command === 1) return radio;
    if (request.command === 27) return [recordedAcknowledgement];
    if (own !== undefined && numberOf(request.attributes, 1) !== undefined)
      return [answer(31, [text(33, own), flag(216)]), recordedAcknowledgement];
    return [rules, recordedAcknowledgement];
  };
  return {
    asked,
    exchange: (request, isLast) => {
      const bytes = Buffer.from(request);
      const at = {
        family: bytes.readUInt16LE(4),
        command: bytes.readUInt8(16),
        isDump: (bytes.readUInt16LE(6) & 0x300) !== 0,
      };
      const one = { ...at, attributes: attributesIn(bytes.subarray(20)) };
      assert.equal(bytes.readUInt32LE(0), bytes.length);
      asked.push(one);
      const answers = answersTo(one);
      assert.deepEqual(
        answers.map(isLast),
        answers.map((_, n) => n === answers.length - 1),
      );
      return answers;
    },
  };
}

test('the channels of a radio in Germany, as the kernel describes them', async () => {
  const { exchange, asked } = kernel({});
  const channels = await kernelRadioRules(async () => exchange).channels(anyInterface);
  const list = (is: (of: (typeof channels)[number]) => boolean): string => {
    const found = channels.filter(is).map(({ frequencyMhz }) => frequencyMhz);
    return `${found.length}: ${found.filter((mhz) => mhz < 5900).join(' ')}`;
  };
  assert.equal(
    list(({ mayStart, isIndoorOnly }) => mayStart && !isIndoorOnly),
    '22: 2412 2417 2422 2427 2432 2437 2442 2447 2452 2457 2462 2467 2472 5745 5765 5785 5805 5825 5845 5855 5860 5865',
  );
  assert.match(
    list(({ mayStart, isIndoorOnly }) => mayStart && isIndoorOnly),
    /: 5180 5200 5220 5240$/,
    'in buildings',
  );
  assert.match(
    list(({ mayStart }) => !mayStart),
    /: 5260 5280 5300 5320 5500 5520 5540 5560 5580 5600 5620 5640 5660 5680 5700$/,
    'with radar detection',
  );
  assert.ok(!channels.some(({ frequencyMhz }) => frequencyMhz === 2484), 'a forbidden one is left out');
  assert.deepEqual([asked[1]?.isDump, asked[1]?.command], [true, 1]);
});

test('the country in effect is read, and a request names another one', async () => {
  const { exchange, asked } = kernel({});
  const rules = kernelRadioRules(async () => exchange);
  assert.equal(await rules.country(), 'DE');
  await rules.askFor('US');
  assert.deepEqual([asked.at(-1)?.command, textOf(asked.at(-1)?.attributes ?? [], 33)], [27, 'US']);
});

test('a radio that obeys the kernel has no country of its own, and one whose firmware decides has', async () => {
  const obeying = kernelRadioRules(async () => kernel({}).exchange);
  assert.equal(await obeying.ownCountry(anyInterface), '');
  const own = kernelRadioRules(async () => kernel({ own: 'US' }).exchange);
  assert.equal(await own.ownCountry(anyInterface), 'US');
});

test('a kernel without radios has no country and no channels, and takes none', async () => {
  const rules = kernelRadioRules(async () => kernel({ hasFamily: false }).exchange);
  assert.deepEqual([await rules.country(), await rules.channels(anyInterface)], ['', []]);
  await rules.askFor('DE');
});

test('an interface that is gone has no channels', async () => {
  const rules = kernelRadioRules(async () => kernel({}).exchange);
  assert.deepEqual([await rules.channels('gone0'), await rules.ownCountry('gone0')], [[], '']);
});

test('a refusal of the kernel is an error with its number', () => {
  const refused = Buffer.from(recordedAcknowledgement);
  refused.writeInt32LE(-22, 16);
  assert.throws(
    () => repliesIn([refused], family),
    (error) => error instanceof NetlinkError && error.code === 22,
  );
});

test('a runtime that cannot speak to the kernel is an error, and the next call tries again', async () => {
  let calls = 0;
  const rules = kernelRadioRules(async () => {
    calls += 1;
    if (calls === 1) throw new Error('not this runtime');
    return kernel({}).exchange;
  });
  await assert.rejects(rules.country(), /not this runtime/);
  assert.equal(await rules.country(), 'DE');
});

test('answers that are cut anywhere are read as far as they go', () => {
  const answers = recordedRadio();
  const [first = Buffer.alloc(0)] = answers;
  const whole = channelsIn(repliesIn(answers, family)).length;
  for (let size = 0; size < first.length; size += 7) {
    const cut = first.slice(0, size);
    assert.ok(channelsIn(repliesIn([cut], family)).length <= whole);
    assert.equal(isLastAnswer(cut), false);
    assert.ok(attributesIn(cut).length >= 0);
  }
});

test('values of attributes: texts end at their NUL, numbers have two or four bytes', () => {
  const all = attributesIn(
    encodeRequest({
      family,
      command: 1,
      attributes: [text(1, 'DE'), number(2, 7), flag(3), { type: 4, value: Buffer.from([1, 2]) }],
    }).subarray(20),
  );
  assert.deepEqual(
    [textOf(all, 1), numberOf(all, 2), numberOf(all, 3), numberOf(all, 4), numberOf(all, 9)],
    ['DE', 7, undefined, 0x201, undefined],
  );
});
