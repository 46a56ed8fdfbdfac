// Damages each file of the version state in each way: the machine recovers and installs the next update.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeChecked } from '../src/storage/checked-file.ts';
import { Rig } from './rig.ts';

const text = (of: string): Uint8Array => new TextEncoder().encode(of);
const damages: Record<string, (bytes: Uint8Array) => Uint8Array> = {
  empty: () => new Uint8Array(),
  'full of noughts': (bytes) => new Uint8Array(bytes.length + 100),
  'cut in half': (bytes) => bytes.slice(0, bytes.length / 2),
  'one bit': (bytes) => bytes.map((byte, i) => (i === bytes.length >> 1 ? byte ^ 4 : byte)),
  'another text': () => text('<html>sign in</html>\n'),
  'of a later form': () => text('9 future words that this agent does not know 77\n'),
  nothing: () => encodeChecked(null),
  'a list': () => encodeChecked([1, { id: 2 }]),
  'other types': () => encodeChecked({ agent: 5, server: { id: 7, url: null, at: [] }, 'https://x': 1 }),
};

/** Updates both programs once; then 1.2.0 of the agent is on trial when the power fails. */
async function world(isOnTrial: boolean): Promise<Rig> {
  const rig = new Rig();
  for (const program of ['agent', 'server'] as const) {
    const { id, use } = rig.publish(program, '1.0.0');
    rig.install(program, id);
    use();
  }
  rig.power();
  for (const program of ['agent', 'server'] as const) rig.publish(program, '1.1.0').use();
  assert.ok(
    await rig.until(() => rig.isWell() && rig.inUse('server').startsWith('1.1.0-'), 60),
    rig.transcript.join('\n'),
  );
  assert.ok(await rig.until(() => rig.isWell() && rig.inUse('agent').startsWith('1.1.0-'), 60));
  if (isOnTrial) {
    rig.publish('server', '1.2.0').use();
    assert.ok(await rig.until(() => rig.inUse('server').startsWith('1.2.0-'), 60, 1_000));
  }
  rig.cutPower();
  await rig.clock.advance(1);
  return rig;
}

/** Every damage applies to all files together; these also apply to each file alone. */
const eachAlone = new Set(['empty', 'other types']);
const isState = (name: string): boolean =>
  /^state\/|^cache\/|^versions\/.*\/(sha256|about\.json)$/.test(name) && !/tuf/.test(name);

for (const isOnTrial of [false, true]) {
  const when = isOnTrial ? 'while a version is on trial' : 'while all is well';
  for (const [name, damage] of Object.entries(damages)) {
    test(`version state that is damaged (${name}) ${when}: the machine is well again and takes the next update`, async () => {
      const sample = await world(isOnTrial);
      const files = sample.machine.files.names().filter(isState);
      await sample.off();
      assert.ok(files.length >= (isOnTrial ? 12 : 10), files.join());
      const single = eachAlone.has(name) ? files.map((file) => [file]) : [];
      for (const damaged of [...single, files]) {
        const rig = await world(isOnTrial);
        for (const file of damaged) {
          const found = rig.machine.files.get(file);
          if (found) rig.machine.files.put(file, damage(found.bytes));
          // Without its trial file, the agent cannot know of the trial, so its start need not be counted.
          if (file.endsWith('.trial')) rig.proven.add(rig.inUse('server'));
        }
        const of = `${damaged.join()} ${rig.machine.files.names().join()}`;
        assert.ok(await rig.until(() => rig.isWell(), 120), `${of}\n${rig.transcript.slice(-30).join('\n')}`);
        const next = rig.publish('server', '1.3.0');
        next.use();
        const isThere = await rig.until(() => rig.isWell() && rig.inUse('server') === next.id, 120);
        assert.ok(isThere, `no next update: ${of}\n${rig.transcript.slice(-30).join('\n')}`);
        await rig.off();
      }
    });
  }
}
