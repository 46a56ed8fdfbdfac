import assert from 'node:assert/strict';
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { Cell, type Clock } from '@platform/kit';
import { captureLog, FakeClock, tempFolder } from '@platform/kit/testing';
import type { Condition } from '../health/conditions.ts';
import { Credentials } from './credentials.ts';

const good = JSON.stringify({ cloud: { app_address: 'http://cloud.example', id: 'part-1', secret: 'secret-1' } });
const other = good.replace('part-1', 'part-2');
const rotated = good.replace('secret-1', 'secret-2');

async function world() {
  const folder = await tempFolder();
  const clock = new FakeClock();
  const captured = captureLog(clock);
  const conditions = new Cell<readonly Condition[]>([]);
  const [file, copy] = [folder.file('etc/platform.json'), folder.file('last-good.json')];
  await mkdir(folder.file('etc'));
  const start = (by: Clock = clock) => new Credentials({ file, copy, conditions, clock: by, log: captured.log });
  const credentials = start();
  return {
    clock,
    captured,
    file,
    copy,
    start,
    credentials,
    codes: () => conditions.get().map((c) => c.code),
    message: () => conditions.get()[0]?.message ?? '',
    errors: () => captured.lines.filter((l) => l.level === 'error'),
    part: (of = credentials) => of.found.get()?.credentials.partId,
    /** A file that cannot be used is read again after a while. */
    async reload(of = credentials) {
      const reloading = of.reload();
      const done = reloading.then(() => 'done');
      const turn = () => new Promise((resolve) => setImmediate(resolve));
      while ((await Promise.race([done, turn()])) !== 'done') await clock.advance(100);
      return reloading;
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

test('a good file: used, and copied for its owner alone', async () => {
  await using w = await world();
  await writeFile(w.file, good);
  assert.equal(await w.reload(), true);
  assert.deepEqual([w.part(), w.credentials.found.get()?.file, w.codes()], ['part-1', w.file, []]);
  assert.equal(await readFile(w.copy, 'utf8'), good);
  assert.equal((await stat(w.copy)).mode & 0o777, 0o600);
  const before = w.credentials.found.get();
  assert.equal(await w.reload(), false);
  assert.equal(w.credentials.found.get(), before, 'the same content changes nothing');
});

test('by an API key', async () => {
  await using w = await world();
  await writeFile(w.file, '{"cloud": {"app_address": "http://h/", "id": "part", "api_key": {"id": "k", "key": "v"}}}');
  await w.reload();
  assert.deepEqual(w.credentials.found.get()?.credentials, {
    appAddress: 'http://h',
    partId: 'part',
    entity: 'k',
    type: 'api-key',
    payload: 'v',
  });
});

test('credentials that Windows wrote as UTF-16, with line ends in the secret', async () => {
  await using w = await world();
  const text = JSON.stringify({ cloud: { app_address: 'http://h', id: 'part-1\r\n', secret: ' s\r\n' } });
  await writeFile(w.file, Buffer.from(`\uFEFF${text}\r\n`, 'utf16le'));
  assert.equal(await w.reload(), true);
  const { partId, payload } = w.credentials.found.get()?.credentials ?? {};
  assert.deepEqual([partId, payload, w.codes()], ['part-1', 's', []]);
});

const bad: readonly [string, string | Buffer | undefined, RegExp][] = [
  ['missing', undefined, /there is no such file/],
  ['empty', '', /it is empty/],
  ['truncated', good.slice(0, 40), /not a JSON object/],
  ['of wrong types', '{"cloud": {"app_address": 7, "id": [], "secret": {}}}', /cloud\.app_address/],
  ['without a secret', '{"cloud": {"app_address": "http://x", "id": "a"}}', /cloud\.secret/],
  ['a list', '[]', /not a JSON object/],
  ['in Latin-1', Buffer.from('{"cloud": "Käse"}', 'latin1'), /not valid UTF-8: byte 0xE4 at offset 12, in line 1/],
  ['huge', `"${'x'.repeat(70_000)}"`, /larger than 65536 bytes/],
];
for (const [name, text, problem] of bad) {
  test(`credentials ${name} at the start: reported once, and used as soon as they are good`, async () => {
    await using w = await world();
    if (text !== undefined) await writeFile(w.file, text);
    for (let i = 0; i < 4; i++) assert.equal(await w.reload(), false);
    assert.deepEqual(
      [w.part(), w.codes(), w.credentials.hasCredentials.get()],
      [undefined, ['CREDENTIALS_MISSING'], false],
    );
    assert.match(w.message(), problem);
    assert.equal(w.errors().length, 1);
    assert.match(String(w.errors()[0]?.fields['remedy']), /Copy the credentials/);
    assert.doesNotMatch(w.captured.text(), /secret-1/);
    await writeFile(w.file, good);
    assert.equal(await w.reload(), true);
    assert.deepEqual([w.part(), w.codes(), w.credentials.hasCredentials.get()], ['part-1', [], true]);
  });

  test(`credentials ${name} while the agent runs: the last valid ones stay in use, with a condition`, async () => {
    await using w = await world();
    await writeFile(w.file, good);
    await w.reload();
    await rm(w.file);
    if (text !== undefined) await writeFile(w.file, text);
    assert.equal(await w.reload(), false);
    assert.equal(w.part(), 'part-1');
    assert.deepEqual(w.codes(), [text === undefined ? 'CREDENTIALS_REMOVED' : 'CREDENTIALS_DAMAGED']);
    assert.equal(w.credentials.found.get()?.file, text === undefined ? w.file : w.copy, 'for the machine server');
    await writeFile(w.file, other);
    assert.equal(await w.reload(), true);
    assert.deepEqual([w.part(), w.credentials.found.get()?.file, w.codes()], ['part-2', w.file, []]);
  });

  test(`credentials ${name} at a later start: the last valid ones are used, but not when they were taken away`, async () => {
    await using w = await world();
    await writeFile(w.file, good);
    await w.reload();
    await rm(w.file);
    if (text !== undefined) await writeFile(w.file, text);
    const next = w.start();
    await w.reload(next);
    const used = text === undefined ? [undefined, undefined] : ['part-1', w.copy];
    const code = text === undefined ? 'CREDENTIALS_MISSING' : 'CREDENTIALS_DAMAGED';
    assert.deepEqual([w.part(next), next.found.get()?.file, w.codes()], [...used, [code]]);
    assert.match(w.message(), problem);
  });
}

test('a file that is written in two steps is read when it is whole', async () => {
  await using w = await world();
  await writeFile(w.file, good);
  const credentials = w.start({ now: () => 0, wall: () => 0, sleep: () => writeFile(w.file, other) });
  await credentials.reload();
  await writeFile(w.file, other.slice(0, 30));
  assert.equal(await credentials.reload(), true);
  assert.deepEqual([w.part(credentials), w.codes(), w.errors()], ['part-2', [], []]);
});

test('a file that is written twice while it is read: the last content is used', async () => {
  await using w = await world();
  await writeFile(w.file, good);
  const first = w.credentials.reload();
  await writeFile(w.file, other);
  const second = w.credentials.reload();
  await writeFile(w.file, rotated);
  await Promise.all([first, second, w.credentials.reload()]);
  assert.equal(w.credentials.found.get()?.credentials.payload, 'secret-2');
});

test('a folder in place of the file, and a folder that takes no copy', async () => {
  await using w = await world();
  await mkdir(w.file);
  await w.reload();
  assert.match(w.message(), /it is not a file/);
  await using fresh = await world();
  await writeFile(fresh.file, good);
  await mkdir(fresh.copy);
  await fresh.reload();
  assert.equal(fresh.part(), 'part-1');
  assert.match(fresh.captured.lines.map((l) => l.message).join(), /credentials are not copied/);
});

test('entered credentials are stored for their owner alone, then used', async () => {
  await using w = await world();
  await w.reload();
  assert.deepEqual(await w.credentials.take(good), { ok: true });
  assert.deepEqual([w.part(), w.codes(), await readFile(w.file, 'utf8')], ['part-1', [], good]);
  assert.equal((await stat(w.file)).mode & 0o777, 0o600);
  assert.deepEqual(await w.credentials.take(good), { ok: true }, 'the same again');
});

const entered: readonly [name: string, text: string, code: string, words: RegExp][] = [
  ['empty', ' \n', 'CREDENTIALS_REJECTED', /cannot be used: it is empty\. Copy the credentials/],
  ['huge', 'x'.repeat(70_000), 'CREDENTIALS_REJECTED', /larger than 65536 bytes/],
  ['truncated', good.slice(0, 40), 'CREDENTIALS_REJECTED', /not a JSON object/],
  ['without a secret', '{"cloud": {"app_address": "http://x", "id": "a"}}', 'CREDENTIALS_REJECTED', /cloud\.secret/],
];
for (const [name, text, code, words] of entered) {
  test(`entered credentials ${name}: refused in words for users, and nothing is written`, async () => {
    await using w = await world();
    const answer = await w.credentials.take(text);
    assert.ok(!answer.ok);
    assert.equal(answer.code, code);
    assert.match(answer.text, words);
    assert.equal(w.part(), undefined);
    await assert.rejects(stat(w.file), /ENOENT/);
  });
}

test('valid credentials are not replaced by entered ones; refused credentials are', async () => {
  await using w = await world();
  await writeFile(w.file, good);
  await w.reload();
  const answer = await w.credentials.take(other);
  assert.deepEqual([answer.ok, !answer.ok && answer.code], [false, 'OTHER_CREDENTIALS']);
  assert.equal(await readFile(w.file, 'utf8'), good);
  w.credentials.refused(true);
  assert.equal(w.credentials.hasCredentials.get(), false);
  const again = await w.credentials.take(good);
  assert.equal(!again.ok && again.code, 'CLOUD_REFUSES_MACHINE', 'those that are refused do not help');
  assert.deepEqual(await w.credentials.take(rotated), { ok: true });
  assert.equal(w.credentials.hasCredentials.get(), true);
  assert.equal(await readFile(`${w.file}.old`, 'utf8'), good);
});

test('credentials that have never worked are replaced once they are given up; those that have worked are not', async () => {
  await using w = await world();
  await writeFile(w.file, good);
  await w.reload();
  assert.equal(w.credentials.unproven.get(), w.credentials.found.get());
  const early = await w.credentials.take(other);
  assert.equal(!early.ok && early.code, 'OTHER_CREDENTIALS', 'they may work in a moment');
  w.credentials.giveUp(true);
  assert.deepEqual(await w.credentials.take(other), { ok: true });
  assert.equal(w.part(), 'part-2');
  w.credentials.refused(false); // the management server has accepted a call
  assert.equal(w.credentials.unproven.get(), undefined);
  const late = await w.credentials.take(rotated);
  assert.equal(!late.ok && late.code, 'OTHER_CREDENTIALS');
  await w.reload();
  const next = w.start();
  await w.reload(next);
  assert.equal(next.unproven.get(), undefined, 'also for the next agent');
  await writeFile(w.file, rotated);
  await w.reload(next);
  assert.equal(next.unproven.get(), next.found.get(), 'other ones have to be accepted first');
});

test('that credentials work is recorded later where the disk did not take it, and reported once', async () => {
  await using w = await world();
  await writeFile(w.file, good);
  await w.reload();
  const record = `${w.copy}.proven`;
  await mkdir(record);
  const accepted = async (): Promise<void> => {
    w.credentials.refused(false);
    await w.reload(); // it waits for the record
  };
  for (let n = 0; n < 3; n++) {
    await accepted();
    await w.clock.advance(60_000);
  }
  assert.equal(w.captured.lines.filter(({ level }) => level === 'warn').length, 1);
  await rm(record, { recursive: true });
  await accepted();
  const next = w.start();
  await w.reload(next);
  assert.equal(next.unproven.get(), undefined);
});

test('entered credentials that cannot be stored are refused with the reason, and not used', async () => {
  await using w = await world();
  await rm(w.file, { force: true });
  await mkdir(w.file);
  const answer = await w.credentials.take(good);
  assert.deepEqual([answer.ok, !answer.ok && answer.code], [false, 'CREDENTIALS_NOT_STORED']);
  assert.equal(w.part(), undefined);
});
