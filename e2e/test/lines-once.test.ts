// The output of a machine server is stored once and in order, whichever process is killed: the server itself, the
// agent, its relay, the cloud. A relay killed between its read from the pipe and its write to the file loses only what
// it held.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { plainEnvironment, type ProcessGroup, spawnGroup, systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { FleetLab } from '../src/fleet-lab.ts';
import { checkout, runCli } from '../src/up-process.ts';

const agentMain = path.join(checkout, 'apps/agent/src/main.ts');

/** Writes a line every 5 ms, and after each line its count to `counts/PID`: a kill cannot undo that. */
const printingServer = (counts: string): string => `#!${process.execPath}
const fs = require('node:fs');
const http = require('node:http');
const file = fs.openSync(${JSON.stringify(counts)} + '/' + process.pid, 'w');
const write = (text) => {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length;) {
    try {
      at += fs.writeSync(2, bytes, at);
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error; // a full pipe: as libc would wait
    }
  }
};
const server = http.createServer((request, answer) => answer.end(JSON.stringify({ restart_allowed: true })));
server.listen(0, '127.0.0.1', () => {
  const url = 'http://127.0.0.1:' + server.address().port;
  console.log(JSON.stringify({ platform_server: 'ready', version: '1.0.0', url, pid: process.pid, revision: 0 }));
  let count = 0;
  const timer = setInterval(() => {
    write('line ' + process.pid + ' ' + count + '\\n');
    count += 1;
    fs.writeSync(file, String(count).padStart(9, '0') + '\\n', 0);
    if (fs.existsSync(${JSON.stringify(counts)} + '/stop')) clearInterval(timer);
  }, 5);
});
`;

/** Finds processes whose command line contains all of these words. */
const processesWith = (...words: readonly string[]): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        const args = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0');
        return words.every((word) => args.includes(word));
      } catch {
        return false; // it has ended
      }
    })
    .map(Number);

test('each line of a machine server is stored once and in order, whoever is killed', async (t) => {
  await using cloud = await FleetLab.open();
  await using folder = await tempFolder();
  const { ready } = cloud;
  const env = {
    PLATFORM_URL: ready.url,
    PLATFORM_API_KEY_ID: ready.api_key_id,
    PLATFORM_API_KEY: ready.api_key,
    PLATFORM_RELEASE_KEYS: folder.file('keys'),
  };
  const json = async (...args: string[]): Promise<Record<string, unknown>> => {
    const { code, stdout, stderr } = await runCli(env, ...args, '--json');
    assert.equal(code, 0, `${args.join(' ')}: ${stderr}`);
    return JSON.parse(stdout) as Record<string, unknown>;
  };
  await using counts = await tempFolder();
  await json('release', 'keys', 'init', folder.file('keys'));
  const program = folder.file('server');
  await writeFile(program, printingServer(counts.path));
  const platform = `linux/${process.arch === 'arm64' ? 'arm64' : 'amd64'}`;
  await writeFile(`${program}.json`, JSON.stringify({ name: 'platform-server', version: '1.0.0', platform }));
  await json('release', 'publish', program, '--channel', 'stable');
  const { credentials, part_id: partId } = await json('machine', 'create', 'press');
  await writeFile(folder.file('platform.json'), JSON.stringify(credentials), { mode: 0o600 });

  const root = folder.file('agent');
  const startAgent = (): Promise<ProcessGroup> =>
    spawnGroup({
      command: process.execPath,
      args: [
        '--disable-warning=ExperimentalWarning',
        agentMain,
        'run',
        '--root',
        root,
        '--config',
        folder.file('platform.json'),
      ],
      env: plainEnvironment(),
      logFile: folder.file('agent.log'),
    });
  /** pid → lines whose write() has returned, the oldest process first. */
  const written = (): Map<number, number> =>
    new Map(
      readdirSync(counts.path)
        .filter((name) => name !== 'stop')
        .toSorted((a, b) => statSync(counts.file(a)).birthtimeMs - statSync(counts.file(b)).birthtimeMs)
        .map((name) => [Number(name), Number(readFileSync(counts.file(name), 'utf8').trim() || 0)]),
    );
  const newest = (): number => [...written().keys()].at(-1) ?? 0;
  const stored = async (): Promise<string[]> => {
    const rows = await cloud.sql<{ message: string }>(
      `select message from part_log where part_id = $1 and message like 'line %' order by id`,
      [partId],
    );
    return rows.map(({ message }) => message);
  };
  /** Reading all rows again and again would slow down what is waited for. */
  const storedCount = async (): Promise<number> => {
    const [row] = await cloud.sql<{ count: string }>(
      `select count(*) as count from part_log where part_id = $1 and message like 'line %'`,
      [partId],
    );
    return Number(row?.count ?? 0);
  };
  const until = async (what: string | (() => string), isSo: () => Promise<boolean> | boolean): Promise<void> => {
    const end = systemClock.now() + 60_000;
    while (!(await isSo())) {
      assert.ok(
        systemClock.now() < end,
        `${typeof what === 'string' ? what : what()} did not happen; ${readFileSync(folder.file('agent.log'), 'utf8').slice(-2_000)}`,
      );
      await systemClock.sleep(200);
    }
  };
  const grows = async (what: string): Promise<void> => {
    const before = await storedCount();
    await until(`${what}: more lines are stored`, async () => (await storedCount()) > before);
  };

  const running: { agent: ProcessGroup } = { agent: await startAgent() };
  try {
    await grows('at first');
    /** Lines of the first machine server before the relay was killed, and after that. */
    const atKill = { before: 0, after: 0 };
    const relays = (): number[] => processesWith('relay', root);
    const rounds: [name: string, kill: () => Promise<void> | void][] = [
      [
        'the agent',
        async () => {
          running.agent.signal('SIGKILL');
          await running.agent.exited;
          running.agent = await startAgent();
        },
      ],
      [
        'the relay',
        () => {
          const count = (): number => written().get(newest()) ?? 0;
          atKill.before = count();
          for (const pid of relays()) process.kill(pid, 'SIGKILL');
          atKill.after = count();
        },
      ],
      [
        'the cloud',
        async () => {
          await cloud.kill();
          await cloud.start();
        },
      ],
      [
        'the machine server',
        async () => {
          const before = written().size;
          process.kill(newest(), 'SIGKILL');
          await until('another machine server runs', () => written().size > before);
        },
      ],
    ];
    assert.equal(relays().length, 1, 'one relay reads the output');
    for (const [name, kill] of rounds) {
      await kill();
      await grows(`after ${name} was killed`);
    }
    await writeFile(counts.file('stop'), '');
    let total = -1;
    await until('the last line is written', async () => {
      const before = total;
      total = [...written().values()].reduce((sum, count) => sum + count, 0);
      await systemClock.sleep(200);
      return total === before;
    });
    // The last line of a killed process may be counted or not.
    const isLast = (line: string): boolean => [...written()].some(([pid, count]) => line === `line ${pid} ${count}`);
    const expected = [...written()].flatMap(([pid, count]) =>
      Array.from({ length: count }, (_, i) => `line ${pid} ${i}`),
    );
    const first = [...written().keys()][0] ?? 0;
    const heldAtMost = 20;
    // On a busy machine, many lines are written between the kill and the second count.
    const span = heldAtMost + atKill.after - atKill.before;
    const mayBeLost = new Set(Array.from({ length: span }, (_, i) => `line ${first} ${atKill.after - i}`));
    const certain = expected.filter((line) => !mayBeLost.has(line));
    let missing = certain;
    const everything = (): string =>
      `everything is stored (without ${missing.length} lines, "${missing[0]}" to "${missing.at(-1)}")`;
    await until(everything, async () => {
      const isThere = new Set(await stored());
      missing = certain.filter((line) => !isThere.has(line));
      return missing.length === 0;
    });
    const found = await stored();
    assert.deepEqual(
      found.filter((line) => !isLast(line)),
      expected.filter((line) => !mayBeLost.has(line) || found.includes(line)),
    );
    const isStored = new Set(found);
    const lost = expected.flatMap((line, at) => (mayBeLost.has(line) && !isStored.has(line) ? [at] : []));
    const [from = 0] = lost;
    assert.deepEqual(
      lost,
      lost.map((_, i) => from + i),
      'what the killed relay held was in one piece',
    );
    assert.ok(lost.length <= heldAtMost, `the killed relay held ${lost.length} lines`);
    t.diagnostic(
      `${found.length} of ${expected.length} lines, ${written().size} machine servers, ${rounds.length} kills`,
    );
  } finally {
    await running.agent.stop({ termMs: 20_000 });
  }
});
