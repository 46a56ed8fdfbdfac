// Log lines by time: query, pages in both directions from any line or moment, counts by level, several machines.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt';
import { sql } from 'kysely';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { LogDirection, LogService } from '@platform/contract/gen/platform/logs/v1/logs_pb';
import { requireLogQuery } from '@platform/contract/logs/filter';
import { databaseExpression } from '../src/logs/log-expression.ts';
import { countLines, searchLines } from '../src/logs/store/log-search.ts';
import { failure } from './failure.ts';
import { testServer } from './server.ts';
import { type Entry, type Request, machine, searcher, start } from './log-machine.ts';

const minute = 60_000;

const bootId = 'b1f3';
const lines: (Entry & { ms: number })[] = [
  { ms: 0, level: 'info', loggerName: 'main', message: 'started', bootId, sequence: 1n },
  {
    ms: 1_000,
    level: 'WARN',
    loggerName: 'resources.front',
    message: 'Timeout after 5 s',
    fields: [{ camera: 'front left' }],
  },
  {
    ms: 2_000,
    level: 'fatal',
    loggerName: 'resources.front',
    message: 'no such device: /dev/video0',
    fields: [{ try: 12 }],
  },
  {
    ms: 3_000,
    level: 'trace',
    loggerName: 'zap',
    message: '100% of a_b\\c',
    fields: [{ Key: 'ok', Type: 4, Integer: 1 }],
  },
  {
    ms: 4_000,
    level: 'odd',
    loggerName: 'zap',
    message: 'zap',
    fields: [{ Key: 'camera', Type: 15, String: 'back' }],
    host: 'barn',
  },
  { ms: 5_000, level: 'info', loggerName: 'main', message: 'Täglich 🦄 done', bootId: 'c2', sequence: 2n },
];

test('a query finds lines by text, expression, level, logger, boot, host and field', async () => {
  await using on = await testServer();
  const one = await machine(on, 'm');
  await one.send(lines);
  const { found } = await searcher(on, one.partId);
  const names = ['start', 'warn', 'fatal', 'trace', 'odd', 'unicorn'];
  const all = await found();
  for (const [query, ...expected] of [
    ['', ...names],
    ['TIMEOUT', 'warn'],
    ['"no such"', 'fatal'],
    ['front', 'warn', 'fatal'],
    ['front -timeout', 'fatal'],
    ['"front left"', 'warn'],
    ['100%', 'trace'],
    ['a_b\\c', 'trace'],
    ['axb'],
    ['täglich', 'unicorn'],
    ['/^Timeout after \\d+ s$/', 'warn'],
    ['/timeout/'],
    ['/timeout/i', 'warn'],
    ['/🦄 d.ne\\b/', 'unicorn'],
    ['-/e/', 'odd'].slice(0, 2),
    ['level:error', 'fatal'],
    ['level>=warn', 'warn', 'fatal'],
    ['level:info', 'start', 'odd', 'unicorn'],
    ['-level:info,debug', 'warn', 'fatal'],
    ['logger:FRONT', 'warn', 'fatal'],
    ['logger=main', 'start', 'unicorn'],
    ['logger=front'],
    ['boot:b1', 'start'],
    ['-boot:b1', 'warn', 'fatal', 'trace', 'odd', 'unicorn'],
    ['host:BAR', 'odd'],
    ['camera="front left"', 'warn'],
    ['camera=front'],
    ['camera~front', 'warn'],
    ['camera=back', 'odd'],
    ['try=12', 'fatal'],
    ['ok=true', 'trace'],
    ['-camera~t', 'start', 'fatal', 'trace', 'odd', 'unicorn'],
  ] as const) {
    const shown = (await found({ query })).map((message) => names[all.indexOf(message)]);
    if (query === '-/e/') assert.deepEqual(shown, ['trace', 'odd'], query);
    else assert.deepEqual(shown, expected, query);
  }
});

test('an expression matches in the database what it matches here', async () => {
  await using on = await testServer();
  const texts = [
    '',
    'a',
    'ab',
    'A-b_c 12',
    'try=3 of 12',
    'x\ny',
    'über 100 %',
    '🦄',
    'a.b',
    'a+b',
    '[x]',
    'tab\there',
    '\\',
    '{2}',
  ];
  const sources = [
    'a',
    '^a',
    'b$',
    'a.b',
    'a\\.b',
    'x.y',
    'x[^]y',
    '\\d+',
    '\\d{2,}',
    '\\bof\\b',
    '\\Bs',
    '[a-c]{2}',
    '[^a-z]',
    '(a|b)+$',
    '(?:)',
    'a|',
    '^$',
    '[\\s-]',
    '[\\D]',
    '\\S+\\s\\S',
    '🦄',
    '\\u00fc',
    '\\x61',
    '[\\]x]',
    '\\\\',
    '\\{2\\}',
    '\\+',
    '.*?b',
    '(a+)+b',
    '(^a)?b',
    '[%&]',
    '\\w+\\W',
    '^.{1,3}$',
    '[\\-_]',
    '\\t',
  ];
  for (const source of sources) {
    const expression = databaseExpression(source);
    const { rows } = await sql<{
      text: string;
    }>`select text from unnest(${texts}::text[]) as text where text ~ ${expression}`.execute(on.db);
    const matching = new RegExp(source, source === '🦄' || source.startsWith('^.{') ? 'u' : '');
    assert.deepEqual(
      rows.map(({ text }) => text),
      texts.filter((text) => matching.test(text)),
      source,
    );
  }
});

test('pages lead in both directions from a moment and from any line; lines of one microsecond come once', async () => {
  await using on = await testServer();
  const one = await machine(on, 'm');
  // They arrive in another order than that of their times, as after a time offline.
  const sent = Array.from({ length: 40 }, (_, n) => ({ ms: Math.floor(n / 8) * minute, message: `${n}` }));
  await one.send(sent.slice(24));
  await one.send(sent.slice(0, 24));
  const { call } = await searcher(on, one.partId);
  const walk = async (request: Request) => {
    const seen: (string | undefined)[] = [];
    for (let cursor = '', pages = 0; ; pages++) {
      const page = await call({ ...request, limit: 7, cursor });
      seen.push(...page.lines.map(({ entry }) => entry?.message));
      cursor = page.lines.at(-1)?.cursor ?? '';
      assert.ok(pages < 20);
      if (!page.hasMore) return seen;
    }
  };
  const all = sent.map(({ message }) => message);
  assert.deepEqual(await walk({}), all);
  assert.deepEqual(await walk({ direction: LogDirection.NEWEST_FIRST }), all.toReversed());
  const from = timestampFromMs(start + minute);
  const until = timestampFromMs(start + 3 * minute);
  assert.deepEqual(await walk({ from, until }), all.slice(8, 24));
  assert.deepEqual(await walk({ until, direction: LogDirection.UNSPECIFIED }), all.slice(0, 24).toReversed());

  const middle = (await call({ query: '/^13$/' })).lines[0]?.cursor ?? '';
  const around = async (direction: LogDirection) =>
    (await call({ cursor: middle, direction, limit: 3 })).lines.map(({ entry }) => entry?.message);
  assert.deepEqual(await around(LogDirection.OLDEST_FIRST), ['14', '15', '16']);
  assert.deepEqual(await around(LogDirection.NEWEST_FIRST), ['12', '11', '10']);
});

test('several machines stand on one axis, each line with its part', async () => {
  await using on = await testServer();
  const [a, b] = [await machine(on, 'a'), await machine(on, 'b')];
  await a.send([
    { ms: 0, message: 'a0' },
    { ms: 2, message: 'a2' },
  ]);
  await b.send([
    { ms: 1, message: 'b1' },
    { ms: 3, message: 'b3' },
  ]);
  const { call, logs } = await searcher(on, a.partId, b.partId, a.partId);
  const { lines: found } = await call();
  assert.deepEqual(
    found.map(({ entry }) => entry?.message),
    ['a0', 'b1', 'a2', 'b3'],
  );
  assert.deepEqual(
    found.map(({ partId }) => partId),
    [a.partId, b.partId, a.partId, b.partId],
  );
  const again = await call({ partIds: [a.partId, a.partId.toUpperCase()] });
  assert.equal(again.lines.length, 2, 'an ID in capitals names the same part');
  const span = { from: timestampFromMs(start), until: timestampFromMs(start + 1_000) };
  const { total } = await logs.countLogs({ partIds: [a.partId, b.partId], ...span });
  assert.equal(total?.info, 4n);
});

test('lines are counted by level in round intervals, within the time and the query only', async () => {
  await using on = await testServer();
  const one = await machine(on, 'm');
  await one.send(lines);
  await one.send([
    { ms: 10 * minute, level: 'error', message: 'later' },
    { ms: 20 * minute, message: 'after the end' },
  ]);
  const { logs } = await searcher(on, one.partId);
  const span = { from: timestampFromMs(start + 1_000), until: timestampFromMs(start + 20 * minute) };
  const count = async (of: { query?: string; most?: number }) => {
    const { counts, interval, total } = await logs.countLogs({ partIds: [one.partId], ...span, ...of });
    const amounts = (sums?: { error: bigint; warn: bigint; info: bigint; debug: bigint }) =>
      sums && [sums.error, sums.warn, sums.info, sums.debug].map(Number);
    return {
      seconds: Number(interval?.seconds),
      counts: counts.map((bar) => [bar.start && (timestampMs(bar.start) - start) / minute, ...(amounts(bar) ?? [])]),
      total: amounts(total),
    };
  };
  assert.deepEqual(await count({ most: 4 }), {
    seconds: 300,
    counts: [
      [0, 1, 1, 2, 1],
      [10, 1, 0, 0, 0],
    ],
    total: [2, 1, 2, 1],
  });
  assert.deepEqual(await count({ query: 'level:error', most: 25 }), {
    seconds: 60,
    counts: [
      [0, 1, 0, 0, 0],
      [10, 1, 0, 0, 0],
    ],
    total: [2, 0, 0, 0],
  });
});

test('hostile lines come as they were; pages of long ones end before they are larger than clients take', async () => {
  await using on = await testServer();
  const one = await machine(on, 'm');
  const ansi = '\u001b[31mred\u001b[0m \u202etxt.exe\u202c';
  await one.send([
    { message: ansi },
    ...Array.from({ length: 60 }, (_, n) => ({ ms: n + 1, message: `${n} ${'ü'.repeat(32_000)}` })),
  ]);
  const { found, call } = await searcher(on, one.partId);
  assert.deepEqual(await found({ query: 'red' }), [ansi]);
  const page = await call({ limit: 1_000 });
  assert.ok(page.hasMore && page.lines.length > 1 && page.lines.length < 61, `${page.lines.length} lines`);
  // Exponential in engines that try one way after the other.
  assert.deepEqual(await found({ query: '/(ü+)+x$/' }), []);
});

test('a search ends at its time limit, and says so', async () => {
  await using on = await testServer();
  const one = await machine(on, 'm');
  await one.send(lines);
  const span = { partIds: [one.partId], terms: requireLogQuery('') };
  const passed = { limitMs: 5_000, leftMs: () => 0 };
  const search = searchLines(on.db, { ...span, isAscending: true, limit: 1 }, passed);
  await assert.rejects(search, { code: 'LOG_SEARCH_TOO_LONG' });
  // The view locks out the statement for longer than its limit.
  const held = Promise.withResolvers<void>();
  const locked = Promise.withResolvers<void>();
  const lock = on.db.transaction().execute(async (trx) => {
    await sql`lock table part_log in access exclusive mode`.execute(trx);
    locked.resolve();
    await held.promise;
  });
  await locked.promise;
  const count = countLines(
    on.db,
    { ...span, from: start, until: start + minute },
    { intervalMs: minute, time: { limitMs: 100, leftMs: () => 100 } },
  );
  await assert.rejects(count, { code: 'LOG_SEARCH_TOO_LONG', message: /the limit of 0.1 seconds/ });
  held.resolve();
  await lock;
});

test('what is not valid is refused with value and limit', async () => {
  await using on = await testServer();
  const one = await machine(on, 'm');
  const { call, logs } = await searcher(on, one.partId);
  const [from, until] = [timestampFromMs(start), timestampFromMs(start + minute)];
  const none = '00000000-0000-4000-8000-000000000000';
  const beyond = Object.keys(LogDirection).length;
  const partIds = [one.partId];
  for (const [ask, code] of [
    [() => call({ partIds: [] }), 'InvalidArgument INVALID_ARGUMENT'],
    [() => call({ partIds: Array.from({ length: 9 }, (_, n) => `${n}`) }), 'InvalidArgument INVALID_ARGUMENT'],
    [() => call({ partIds: [none] }), 'NotFound PART_NOT_FOUND'],
    [() => call({ partIds: [''] }), 'NotFound PART_NOT_FOUND'],
    [() => call({ partIds: ['\0'] }), 'NotFound PART_NOT_FOUND'],
    [() => call({ partIds: [`{${one.partId}}`] }), 'NotFound PART_NOT_FOUND'],
    [() => call({ partIds: ['x'.repeat(20_000)] }), 'NotFound PART_NOT_FOUND'],
    [() => call({ limit: 4_294_967_295 }), 'InvalidArgument INVALID_ARGUMENT'],
    [() => call({ direction: beyond as LogDirection }), 'InvalidArgument INVALID_ARGUMENT'],
    [() => call({ direction: -beyond as LogDirection }), 'InvalidArgument INVALID_ARGUMENT'],
    [() => call({ query: '\0' }), 'InvalidArgument QUERY_NOT_VALID'],
    [() => call({ query: '"a\0b"' }), 'InvalidArgument QUERY_NOT_VALID'],
    [() => call({ query: 'logger:\0' }), 'InvalidArgument QUERY_NOT_VALID'],
    [() => call({ query: 'camera=\0' }), 'InvalidArgument QUERY_NOT_VALID'],
    [() => call({ query: '/(/' }), 'InvalidArgument QUERY_NOT_VALID'],
    [() => call({ query: '/(a{200}){200}/' }), 'InvalidArgument LOG_EXPRESSION_NOT_VALID'],
    [() => call({ query: '/(?i:a)/' }), 'InvalidArgument LOG_EXPRESSION_NOT_VALID'],
    [() => call({ cursor: '\0' }), 'InvalidArgument INVALID_ARGUMENT'],
    [() => call({ cursor: btoa('line 0000-01-01T00:00:00.000000 1') }), 'InvalidArgument INVALID_ARGUMENT'],
    [() => call({ limit: 1_001 }), 'InvalidArgument INVALID_ARGUMENT'],
    [() => call({ query: 'lvel:error' }), 'InvalidArgument QUERY_NOT_VALID'],
    [() => call({ query: '/(?=a)/' }), 'InvalidArgument LOG_EXPRESSION_NOT_VALID'],
    [() => call({ cursor: 'x' }), 'InvalidArgument INVALID_ARGUMENT'],
    [
      () => call({ cursor: btoa('line 2026-02-31T00:00:00.000000 1').replaceAll('=', '') }),
      'InvalidArgument INVALID_ARGUMENT',
    ],
    [() => call({ from: until, until: from }), 'InvalidArgument INVALID_ARGUMENT'],
    [() => call({ from, until: from }), 'InvalidArgument INVALID_ARGUMENT'],
    [() => logs.countLogs({ partIds, from: until, until: from }), 'InvalidArgument INVALID_ARGUMENT'],
    [() => logs.countLogs({ partIds, until }), 'InvalidArgument INVALID_ARGUMENT'],
    [() => logs.countLogs({ partIds, from }), 'InvalidArgument INVALID_ARGUMENT'],
    [() => logs.countLogs({ partIds, from, until, most: 501 }), 'InvalidArgument INVALID_ARGUMENT'],
    [() => logs.countLogs({ partIds, from: timestampFromMs(0), until }), 'InvalidArgument INVALID_ARGUMENT'],
  ] as const)
    assert.equal(await failure(ask()), code);
});

test('a time outside of the years 1 to 9999 is refused by each call that reads lines, samples or revisions', async () => {
  await using on = await testServer();
  const { partId } = await machine(on, 'm');
  const [logs, app] = [await on.client(LogService), await on.client(AppService)];
  const fleet = await on.client(FleetService);
  const partIds = [partId];
  for (const time of [
    { seconds: 2n ** 63n - 1n, nanos: 0 },
    { seconds: -(2n ** 63n), nanos: 0 },
    // The first second that no Date has.
    { seconds: 8_640_000_000_001n, nanos: 0 },
    { seconds: 253_402_300_800n, nanos: 0 },
    { seconds: -62_135_596_801n, nanos: 0 },
    { seconds: 0n, nanos: -1 },
    { seconds: 0n, nanos: 2 ** 31 - 1 },
  ])
    for (const ask of [
      () => logs.searchLogs({ partIds, from: time }),
      () => logs.searchLogs({ partIds, until: time }),
      () => logs.searchLogs({ partIds, from: time, until: time }),
      () => logs.countLogs({ partIds, from: time, until: time }),
      () => app.getRobotPartLogs({ id: partId, start: time }),
      () => app.getRobotPartLogs({ id: partId, end: time }),
      () => app.getRobotPartHistory({ id: partId, start: time }),
      () => app.getRobotPartHistory({ id: partId, end: time }),
      () => app.updateRobotPart({ id: partId, robotConfigJson: '{}', lastKnownUpdate: time }),
      () => fleet.getMachineSamples({ partId, from: time }),
      () => fleet.getMachineSamples({ partId, until: time }),
    ])
      assert.equal(
        await failure(ask()),
        'InvalidArgument INVALID_ARGUMENT',
        `${time.seconds} s ${time.nanos} ns: ${String(ask)}`,
      );
});

test('lines of the first and the last moment of all times can be answered as JSON, too', async () => {
  await using on = await testServer();
  const { partId, part } = await on.machine('m');
  const robot = await on.client(RobotService, part);
  const [first, last] = [{ seconds: -62_135_596_800n }, { seconds: 253_402_300_799n, nanos: 999_999_999 }];
  await robot.log({
    id: partId,
    logs: [
      { message: 'first', time: { ...first, nanos: 0 } },
      { message: 'last', time: last },
      { message: 'less than no time', time: { ...first, nanos: -(2 ** 31) } },
      { message: 'more than a second', time: { ...last, nanos: 2 ** 31 - 1 } },
    ],
  });
  const headers = { authorization: `Bearer ${await on.token(on.owner)}`, 'content-type': 'application/json' };
  const ask = async (call: string, body: unknown) => {
    const answer = await fetch(`${on.url}/${call}`, { method: 'POST', headers, body: JSON.stringify(body) });
    const text = await answer.text();
    assert.equal(answer.status, 200, `${call}: ${text}`);
    return text;
  };
  const search = 'platform.logs.v1.LogService/SearchLogs';
  const found = await ask(search, { partIds: [partId], direction: 'LOG_DIRECTION_OLDEST_FIRST' });
  const { lines: shown } = JSON.parse(found) as {
    lines: { entry: { message: string; time: string }; cursor: string }[];
  };
  assert.deepEqual(
    [shown[0], shown[3]].map((line) => [line?.entry.message, line?.entry.time.slice(0, 19)]),
    [
      ['first', '0001-01-01T00:00:00'],
      ['last', '9999-12-31T23:59:59'],
    ],
  );
  for (const { cursor } of shown) await ask(search, { partIds: [partId], cursor });
  await ask('platform.app.v1.AppService/GetRobotPartLogs', { id: partId });
  const count = async (from: string, until: string) =>
    JSON.parse(
      await ask('platform.logs.v1.LogService/CountLogs', { partIds: [partId], from, until, most: 1 }),
    ) as unknown;
  assert.deepEqual(await count('0001-01-01T00:00:00Z', '0001-03-31T00:00:00Z'), {
    counts: [{ start: '0001-01-01T00:00:00Z', info: '1' }],
    interval: '31622400s',
    total: { info: '1' },
  });
});
