import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Code, ConnectError } from '@connectrpc/connect';
import { resolveAgentConfig } from '@platform/contract/config/agent-config';
import { Cell, TimeoutError } from '@platform/kit';
import { captureLog, FakeClock } from '@platform/kit/testing';
import { ConfigReceiver } from '../config/config-receiver.ts';
import { simDisk } from '../os/sim/disk.ts';
import { SimFiles } from '../os/sim/files.ts';
import { settingsOf } from '../state/settings.ts';
import { nothingYet, type Wanted } from '../state/state.ts';
import { report } from './report.ts';

const layers = { commandLine: undefined, manufacturer: undefined, isFastStart: false };
const unset: Wanted = {
  revision: 0,
  configSha256: '',
  settings: settingsOf(resolveAgentConfig(layers).config, layers),
  corrections: [],
  ineffective: [],
  versions: { agent: '', server: '' },
  server: undefined,
  agent: undefined,
  clearance: 0,
  systemUpgrades: 0,
  orders: [],
  isFresh: false,
};
const host = {
  hostname: () => 'h',
  platform: 'linux/amd64',
  distro: () => '',
  tags: [],
  bootId: '',
  isSupervisedBySystemd: true,
  abilities: { managesNetworks: false, managesSystem: false },
};

/** Reports while each call fails; `failing` runs before it does. */
function reportInVain(failing: () => Error, isReached: Cell<boolean>) {
  const clock = new FakeClock();
  const { log, lines } = captureLog(clock, 'warn');
  const [wanted, conditions] = [new Cell(unset), new Cell([])];
  const stop = new AbortController();
  const count = { tries: 0 };
  const cloud = {
    partId: 'p',
    deviceAgentConfig: async () => {
      count.tries += 1;
      throw failing();
    },
    needsRestart: () => assert.fail(),
    log: () => assert.fail(),
  };
  const configReceiver = new ConfigReceiver({ disk: simDisk(new SimFiles(), {}), wanted, layers, conditions, log });
  const self = { partId: 'p', agentVersion: '1.0.0', startedAt: 0, host };
  const state = { wanted, actual: new Cell(nothingYet), conditions, isReached };
  const others = { sinceOf: (noted: number) => noted, clock, log, passes: log, random: () => 0 };
  const done = report({ cloud, configReceiver, self, ...state, ...others }, stop.signal);
  return {
    clock,
    lines,
    count,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await done;
    },
  };
}
const warning = 'the management server answers checks but takes no report';

test('a report that is refused again and again is named in the log, which is sent', async () => {
  const refused = () => new ConnectError('field report: too long', Code.InvalidArgument);
  await using w = reportInVain(refused, new Cell(true));
  while (w.count.tries < 5) await w.clock.advance(10_000);
  const [first] = w.lines;
  assert.equal(first?.message, warning);
  assert.deepEqual(first.fields, { error: '[invalid_argument] field report: too long', failures: 5 });
  assert.equal(w.lines.length, Math.floor(w.count.tries / 5));
});

test('a report that gets no answer is named, too, if checks are answered in between; without a network none is', async () => {
  for (const isAnswered of [true, false]) {
    const isReached = new Cell(true);
    // As each call does that gets no answer.
    const lost = () => (isReached.set(false), new TimeoutError('DeviceAgentConfig', 15_000));
    await using w = reportInVain(lost, isReached);
    while (w.count.tries < 5) {
      await w.clock.advance(55_000);
      if (isAnswered) isReached.set(true);
    }
    assert.deepEqual(
      w.lines.map(({ message, fields }) => [message, fields['failures']]),
      isAnswered ? [[warning, 5]] : [],
    );
  }
});
