import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  parseCredentials,
  parseReadyLine,
  parseRestartStatus,
  parseVersionLine,
  publicReadyLine,
  readyLine,
  restartStatusJson,
  versionLine,
} from '../../src/machine-server/machine-server.ts';

test('readiness lines: ours, the public one, and everything else', () => {
  const ready = { version: '1.2.3', url: 'http://127.0.0.1:4242', pid: 77, revision: 5, configSha256: 'ab'.repeat(32) };
  const rows: [string, ReturnType<typeof parseReadyLine>][] = [
    [readyLine(ready), ready],
    [publicReadyLine(ready.url), { url: ready.url }],
    [`2026-01-02T03:04:05Z ${readyLine(ready)}`, ready],
    ['{"platform_server":"ready","url":"http://127.0.0.1:1/","pid":"x"}', { url: 'http://127.0.0.1:1' }],
    ['{"platform_server":"ready","url":"ftp://127.0.0.1"}', undefined],
    ['{"platform_server":"stopping","url":"http://127.0.0.1:1"}', undefined],
    ['{"platform_server":"ready","url"', undefined],
    [
      'INFO web serving {"url": "https://one.local:8080", "alt_url": "https://0.0.0.0:8080"}',
      { url: 'https://127.0.0.1:8080' },
    ],
    ['INFO\tweb\tserving\t{"url":"http://localhost:8080"}', { url: 'http://localhost:8080' }],
    ['observing {"url":"http://localhost:8080"}', undefined],
    ['serving soon', undefined],
    ['', undefined],
  ];
  for (const [line, expected] of rows) assert.deepEqual(parseReadyLine(line), expected, line);
});

test('restart status: a full answer survives, a public one is understood, anything else is not one', () => {
  const full = {
    restartAllowed: false,
    doesNotHandleNeedsRestart: true,
    version: '1.0.0',
    uptimeSeconds: 3.5,
    reconfiguring: true,
    revision: 4,
    configSha256: 'cd'.repeat(32),
    restartNeeded: false,
    maintenance: { allowed: false, reading: 'gate open' },
  };
  assert.deepEqual(parseRestartStatus(JSON.stringify(restartStatusJson(full))), full);
  assert.deepEqual(parseRestartStatus({ restart_allowed: true, module_server_tcp_addr: '127.0.0.1:9' }), {
    restartAllowed: true,
    doesNotHandleNeedsRestart: false,
    moduleServerTcpAddress: '127.0.0.1:9',
  });
  const odd = parseRestartStatus({ restart_allowed: true, uptime_s: '3', maintenance: { allowed: true, reading: 7 } });
  assert.deepEqual(odd, {
    restartAllowed: true,
    doesNotHandleNeedsRestart: false,
    maintenance: { allowed: true, reading: '7' },
  });
  for (const bad of ['', '[]', 'null', '{"restart_allowed":"yes"}', 7])
    assert.equal(parseRestartStatus(bad), undefined);
});

test('--version names the program', () => {
  const program = { version: '1.2.3', binaryName: 'platform-server' };
  assert.deepEqual(parseVersionLine(`${versionLine(program)}\n`), program);
  assert.equal(parseVersionLine('v24.21.0'), undefined);
});

const parse = (value: unknown) => parseCredentials(JSON.stringify(value));

test('credentials: both forms, and each mistake named', () => {
  const cloud = { app_address: 'http://127.0.0.1:8080/', id: 'part' };
  assert.deepEqual(parse({ cloud: { ...cloud, secret: 's' } }), {
    ok: true,
    value: { appAddress: 'http://127.0.0.1:8080', partId: 'part', entity: 'part', type: 'robot-secret', payload: 's' },
  });
  const spaced = { app_address: ' http://127.0.0.1:8080\n', id: '\tpart\r\n', secret: ' s\n' };
  assert.deepEqual(parse({ cloud: spaced }), parse({ cloud: { ...cloud, secret: 's' } }));
  assert.deepEqual(
    parse({ cloud: { ...cloud, api_key: { id: 'k\n', key: ' v\r' } } }),
    parse({ cloud: { ...cloud, api_key: { id: 'k', key: 'v' } } }),
  );
  assert.deepEqual(parse({ cloud: { ...cloud, secret: 's', api_key: { id: 'k', key: 'v' } } }), {
    ok: true,
    value: { appAddress: 'http://127.0.0.1:8080', partId: 'part', entity: 'k', type: 'api-key', payload: 'v' },
  });
  const mistakes: [unknown, RegExp][] = [
    [[], /not a JSON object/],
    [{}, /no object "cloud"/],
    [{ cloud: { ...cloud, app_address: 'example' } }, /app_address/],
    [{ cloud: { ...cloud, id: '' } }, /cloud\.id/],
    [{ cloud }, /cloud\.secret/],
    [{ cloud: { ...cloud, api_key: { id: 'k' } } }, /api_key\.key/],
  ];
  for (const [value, problem] of mistakes) {
    const parsed = parse(value);
    assert.ok(!parsed.ok);
    assert.match(parsed.problem, problem);
    assert.match(parsed.remedy, /credentials/);
  }
});
