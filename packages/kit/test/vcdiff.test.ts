import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { constants, zstdCompressSync } from 'node:zlib';
import { applyPatch, makePatch, PatchRefused } from '../src/node/index.ts';
import { seededRandom } from '../src/testing/index.ts';

const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

async function* pieces(bytes: Uint8Array, random: () => number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length;) {
    const piece = bytes.subarray(at, at + 1 + Math.floor(random() * 5_000));
    at += piece.length;
    yield piece;
  }
}

async function applied(
  before: Uint8Array,
  patch: Uint8Array,
  { limitBytes = 1 << 30, random = seededRandom(1) }: { limitBytes?: number; random?: () => number } = {},
): Promise<Buffer> {
  const parts: Buffer[] = [];
  const size = await applyPatch({
    patch: pieces(patch, random),
    source: (at, length) => Promise.resolve(before.subarray(at, at + length)),
    write: (bytes) => Promise.resolve(void parts.push(Buffer.from(bytes))),
    limitBytes,
  });
  const after = Buffer.concat(parts);
  assert.equal(size, after.length);
  return after;
}

const patchOf = (before: Uint8Array, after: Uint8Array): Buffer => Buffer.concat([...makePatch(before, after)]);
const packed = (patch: Uint8Array): Buffer =>
  zstdCompressSync(patch, { params: { [constants.ZSTD_c_compressionLevel]: 3 } });

function noise(length: number, random: () => number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length; at++) bytes[at] = random() * 256;
  return bytes;
}

/** Some of everything that happens to programs from one version to the next. */
function edited(bytes: Buffer, random: () => number): Buffer {
  const within = (most: number): number => Math.floor(random() * most);
  let now = bytes;
  for (let edit = within(12); edit > 0; edit--) {
    const at = within(now.length + 1);
    const [head, tail] = [now.subarray(0, at), now.subarray(at)];
    const length = within(random() < 0.5 ? 12 : 4_000);
    const from = within(bytes.length + 1);
    const kinds = [
      () => Buffer.concat([head, noise(length, random), tail]),
      () => Buffer.concat([head, tail.subarray(length)]),
      () => Buffer.concat([head, noise(length, random), tail.subarray(length)]),
      () => Buffer.concat([head, bytes.subarray(from, from + length), tail]),
      () => Buffer.concat([head, Buffer.alloc(length, within(3)), tail]),
      () => Buffer.concat([tail, head]),
      () => Buffer.concat([head, head.subarray(-length), head.subarray(-length), tail]),
    ];
    now = kinds[within(kinds.length)]?.() ?? now;
  }
  return now;
}

test('a patch makes the new file of the old one, whatever changed', async () => {
  for (let seed = 1; seed <= 200; seed++) {
    const random = seededRandom(seed);
    const before = noise(Math.floor(random() ** 3 * 300_000), random);
    const after = edited(before, random);
    const patch = patchOf(before, after);
    const sent = seed % 2 === 0 ? packed(patch) : patch;
    assert.ok((await applied(before, sent, { random })).equals(after), `seed ${seed}`);
  }
});

test('files larger than a window and than the pages that are kept; a small change is a small patch', async () => {
  const random = seededRandom(7);
  const before = Buffer.concat(Array.from({ length: 40 }, () => noise(300_000, random)));
  const after = Buffer.concat([
    before.subarray(5_000_000, 9_000_000),
    Buffer.from('new words'),
    before.subarray(0, 5_000_000),
    before.subarray(9_000_001),
  ]);
  const patch = patchOf(before, after);
  assert.ok((await applied(before, patch)).equals(after));
  assert.ok(patch.length < 400, `${patch.length} bytes`);
});

test('empty files, equal files, nothing in common', async () => {
  const random = seededRandom(3);
  const [none, one, other] = [Buffer.alloc(0), noise(70_000, random), noise(70_000, random)];
  const zeros = Buffer.alloc(100_000);
  const pairs: [Buffer, Buffer, number][] = [
    [none, none, 10],
    [none, one, 70_100],
    [one, none, 10],
    [one, one, 40],
    [one, other, 70_100],
    [none, zeros, 40],
    [zeros, zeros, 40],
  ];
  for (const [before, after, most] of pairs) {
    const patch = patchOf(before, after);
    assert.ok((await applied(before, patch)).equals(after));
    assert.ok(patch.length <= most, `${before.length} → ${after.length}: a patch of ${patch.length} bytes`);
  }
});

test('a patch by xdelta3', async () => {
  const before = Buffer.from(
    'grcO7n8aUDm+8H7CNH8GbtCPXcdRJEfjQEMAAmtuVFWUoGVoXWTEmAu41FRKhyGpmgGtIZ61nPahXvbxWh2DC7fOCda7wATnF1xk' +
      'PH3ssLWA7De8lxLdLmquuUuujS+fopxaKE' +
      'ye91IYKc8QebCA6ddKHBD8q2pCQ9M2Vt6+TB7XlkjoVuj5ovWMlfDOSznBW/+tXC37' +
      'i7ggthGcuo/4h5auWwXygKaM7ZO2soyw0bNY5rqrSFVlufSQKNVX15qKDmRR4VxwXBXxc1QbRDiiXPdjEtTus8IkaHm/ALPPjtE6' +
      'vxKaMJetlrRC1tG970hQw/RlRC6zAMM3pkimwNvdc/yV9cLEUYWa/oDUCqOd+5JJ9Aw+432WFEXIBvWMfPISffqJT5KW/PM8CECZ' +
      'kKyXDe2zuEMSAYHpN2EH29r2xfPIZJfuIZsB3ZLxn0lU9P6pTtkYI3WIKyANqtsjz/kZPz5wOESV4ExdXtNSIm0WN8Ikjx08zEQF' +
      '3S6h+vq0vxxGlk2UcIYgeIKRRHi+6MdbQwmuKxIuP+h6x+z1pTcPxBtN23I7KvtsR8C1eJSqssXBRbeX3bkSblzKIDESEF9nZBT6' +
      '9rIA2vCZ26Xu7DNiT1Ekv8XwTYI4jlKSeBD2ELC8oR4L6fFPPKaV6HpTEWYMdijNup9e77mQIu9Te1lqFtyKA+wf59JWFxGzMCR5' +
      '+y/xG3wZ/sseGILQ5JwaE2NbzmB3K6A3LFImbQjht/nYwEMGneVyO0ef9yyGzqBDQinxfSvbfY0f/H8YZpK/MiTXoMIAkkMO4kkJ',
    'base64',
  );
  const patch = Buffer.from(
    '1sPEAAQHeGIvL3hhLwWEWACBAYVoAF8SBvcVZtRpbnNlcnRlZCB3b3JkcwBMnvdSGCnPEHmwgOnXShwQ/KtqQkPTNlbevkwe15ZI' +
      '6Fbo+aL1jJXwzks5wVv/rVwt+4u4ILYRnLqP+IeCtw7ufxpQOb7wfsI0fwZu0I9dxxOBSA8TgRYAKAE8Q4FcARQjKACBSIE0FA==',
    'base64',
  );
  assert.equal(
    sha256Of(await applied(before, patch)),
    '8fce30b3ac556a0d2fdd5ce44605c815490192090f1d9e904f0f082717e1ad24',
  );
});

test('damaged patches are refused: every byte changed, every length cut, bytes lost and put in', async () => {
  const random = seededRandom(11);
  const before = noise(3_000, random);
  const after = Buffer.concat([
    before.subarray(900),
    noise(500, random),
    before.subarray(300, 1_000),
    Buffer.alloc(99),
  ]);
  const tally = { refused: 0, harmless: 0 };
  const attempt = async (patch: Uint8Array, what: string): Promise<void> => {
    try {
      // A change that means the same does no damage; a wrong file must never come out.
      assert.ok((await applied(before, patch, { limitBytes: 100_000 })).equals(after), `${what}: a wrong file`);
      tally.harmless++;
    } catch (error) {
      if (!(error instanceof PatchRefused)) throw error;
      tally.refused++;
    }
  };
  for (const patch of [patchOf(before, after), packed(patchOf(before, after))]) {
    for (let at = 0; at < patch.length; at++) {
      const changed = Buffer.from(patch);
      changed[at] = (changed[at] ?? 0) ^ (1 << Math.floor(random() * 8));
      await attempt(changed, `byte ${at} changed`);
      // A patch without windows makes an empty file, and is whole.
      if (at !== 5) await attempt(patch.subarray(0, at), `cut at ${at}`);
      if (at % 5 > 0) continue;
      await attempt(Buffer.concat([patch.subarray(0, at), patch.subarray(at + 1)]), `byte ${at} lost`);
      await attempt(
        Buffer.concat([patch.subarray(0, at), noise(3, random), patch.subarray(at)]),
        `bytes put in at ${at}`,
      );
    }
  }
  assert.ok(tally.refused > 300, `${tally.refused} were refused`);
  assert.ok(tally.harmless * 50 < tally.refused, `${tally.harmless} changed nothing`);
});

test('no damage takes more memory or time than a window: sizes are refused before they are believed', async () => {
  const huge = [0x8f, 0xff, 0xff, 0xff, 0x7f];
  const start = [0xd6, 0xc3, 0xc4, 0, 0];
  const rows: [string, number[], RegExp][] = [
    ['a huge window', [...start, 0, 20, ...huge, 0, 1, 1, 0], /a window of/],
    ['a huge section', [...start, 0, ...huge, 10, 0, ...huge, 1, 0], /lengths of its sections/],
    ['words of the maker without end', [0xd6, 0xc3, 0xc4, 0, 4, ...huge], /a part of/],
    ['a number without end', [...start, 0, ...Array.from({ length: 9 }, () => 0xff)], /number is too long/],
    ['an empty window', [...start, 0, 6, 0, 0, 0, 0, 0], /an empty window/],
    ['secondary compression', [0xd6, 0xc3, 0xc4, 0, 1, 2], /secondary compression/],
    ['a web page', [...Buffer.from('<!doctype html>')], /not a VCDIFF patch/],
    ['nothing', [], /ends too early/],
  ];
  for (const [name, bytes, problem] of rows) {
    await assert.rejects(
      applied(Buffer.alloc(10), Uint8Array.from(bytes)),
      { name: 'PatchRefused', message: problem },
      name,
    );
  }
  const [before, after] = [Buffer.alloc(9), Buffer.from('a file of more bytes')];
  await assert.rejects(applied(before, patchOf(before, after), { limitBytes: 19 }), /larger than expected/);
});

test('another old file is detected; a failing disk is not reported as a damaged patch', async () => {
  const random = seededRandom(13);
  const before = noise(20_000, random);
  const after = Buffer.concat([before.subarray(9_000), noise(500, random), before.subarray(0, 9_000)]);
  const patch = patchOf(before, after);
  await assert.rejects(applied(noise(20_000, random), patch), { name: 'PatchRefused', message: /checksum/ });
  await assert.rejects(applied(before.subarray(0, 10), patch), { name: 'PatchRefused', message: /shorter/ });
  const broken = new Error('EIO');
  const parts = { write: () => Promise.resolve(), limitBytes: 1 << 20, patch: pieces(patch, random) };
  await assert.rejects(applyPatch({ ...parts, source: () => Promise.reject(broken) }), broken);
  const cut = async function* (): AsyncGenerator<Uint8Array> {
    yield packed(patch).subarray(0, 100);
    throw broken;
  };
  const source = (at: number, length: number) => Promise.resolve(before.subarray(at, at + length));
  await assert.rejects(applyPatch({ ...parts, patch: cut(), source }), broken);
});
