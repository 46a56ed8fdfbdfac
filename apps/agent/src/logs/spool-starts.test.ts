import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '@platform/kit/testing';
import { PowerCut, simDisk } from '../os/sim/disk.ts';
import { SimFiles } from '../os/sim/files.ts';
import { idBytes, newId } from '../os/fresh-id.ts';
import { Spool, standardSpoolLimits } from './spool.ts';
import { line, world, put } from '../../test/spool-world.ts';

const copyOf = (files: SimFiles): SimFiles => {
  const copy = new SimFiles();
  for (const name of files.names()) copy.put(name, files.get(name)!.bytes.slice());
  return copy;
};
const identities = async (spool: Spool): Promise<string[]> => {
  const got: string[] = [];
  for (let batch = await spool.next(9); batch.length > 0; batch = await spool.next(9)) {
    got.push(...batch.map((r) => `${r.bootId}/${r.sequence} ${r.message}`));
    await spool.ack(batch.at(-1)!.sequence);
  }
  return got;
};

test('one folder that is started twice, at once or one after the other, gives no identity to two lines', async () => {
  const { spool, files } = await world();
  await put(spool, 'golden 1', 'golden 2');
  await spool.ack(1);
  await spool.saveState();
  const arrived: string[] = [];
  for (const copy of ['a', 'b', 'c']) {
    const again = await Spool.open(simDisk(copyOf(files), {}), standardSpoolLimits, () => copy);
    await put(again, `started as ${copy}`, `more of ${copy}`);
    arrived.push(...(await identities(again)));
  }
  const keys = new Map<string, Set<string>>();
  for (const one of arrived) {
    const [key = '', ...text] = one.split(' ');
    keys.set(key, (keys.get(key) ?? new Set()).add(text.join(' ')));
  }
  assert.ok([...keys.values()].every((texts) => texts.size === 1));
  assert.equal(keys.size, 1 + 3 * 2, 'the line of before once, and all lines of the three');
});

test('two machines that go on from one snapshot, with the same random bytes, give no identity to two lines', async () => {
  const { files } = await world();
  const random = new Uint8Array(idBytes).fill(7);
  const [first, second] = await Promise.all(
    [1, 2].map(async (copy) => {
      const spool = await Spool.open(simDisk(copyOf(files), {}), standardSpoolLimits, () => newId(random));
      await put(spool, `line of ${copy}`);
      return (await identities(spool)).map((one) => one.split(' ')[0]);
    }),
  );
  assert.equal(first?.length, 1);
  assert.notDeepEqual(first, second);
});

test('hundreds of starts without a network: few files, every line under the identity of its start, in order', async () => {
  const { open, files, faults } = await world();
  const random = seededRandom(5);
  const expected: string[] = [];
  let spool = await open();
  for (let start = 0; start < 400; start++) {
    // Every tenth start ends in a power cut somewhere in its writes, a merge included.
    if (start % 10 === 9) faults.cutIn = { changes: 1 + Math.floor(random() * 6), share: random() };
    try {
      spool = await open();
      const stored = spool.append(line(`start ${start}`));
      void stored.then(() => expected.push(`${spool.bootId} start ${start}`));
      await spool.flush();
    } catch (error) {
      assert.ok(error instanceof PowerCut);
    }
    delete faults.cutIn;
    assert.ok(files.names().filter((name) => name.endsWith('.seg')).length <= 50);
  }
  const got = (await identities(await open())).map((text) => text.replace(/\/\d+/, ''));
  const kept = new Set(expected);
  assert.deepEqual(
    got.filter((text) => kept.has(text)),
    expected,
  );
  assert.equal(new Set(got).size, got.length);
});
