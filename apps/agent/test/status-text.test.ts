import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AgentStatus, SliceReport } from '@platform/contract/agent-status';
import { statusText } from '../src/commands/status-text.ts';
import { program, status } from './healthy-status.ts';

const since = '2025-12-31T22:00:00.000Z';
const busy: AgentStatus = {
  ...status,
  programs: {
    agent: program,
    server: {
      ...program,
      running: '2.1.0-dev.19099fff',
      wanted: '2.2.0-dev.9b7b471f',
      pin: '2.1.0',
      trial: { version: '2.1.0', previous: '2.0.4', starts: 2, since },
      quarantined: [
        {
          version: '2.2.0',
          reason: 'it ended 3 times\u001b[2J before it was ready',
          since,
          exit: {
            version: '2.2.0',
            reason: 'signal SIGSEGV',
            lines: ['loading', 'Segmentation\u001b[2J fault'],
            since,
          },
        },
      ],
      last_exit: { version: '2.1.0', reason: 'exit 3', lines: ['no camera'], since: '2025-12-31T23:59:00.000Z' },
      is_unsigned: true,
    },
  },
  conditions: [
    { code: 'CLOCK_WRONG', severity: 'warning', message: 'The clock is slow.', remedy: 'Set it.', since, path: '' },
  ],
};

test('the status text: its content', () => {
  const text = statusText(busy);
  for (const words of [
    /^machine {2}part, barn, linux\/amd64, debian:12$/m,
    /^server {4}1\.0\.0|^server {3}running 1\.0\.0/m,
    /^PROGRAM {2}RUNNING {13}INSTALLED {2}WANTED {14}PREVIOUS$/m,
    /pinned {2}to 2\.1\.0, on this machine/,
    /trial {3}2\.1\.0 is on trial for 2 h, start 2 of 3; before it 2\.0\.4/,
    /bad {5}2\.2\.0 for 2 h: it ended 3 times\?\[2J before it was ready/,
    /ended {3}2\.2\.0, 2 h ago: signal SIGSEGV\n {4}\| +loading\n {4}\| +Segmentation\?\[2J fault/,
    /ended {3}2\.1\.0, 1 min ago: exit 3\n {4}\| +no camera/,
    /signed {2}no: no release key signed the running file/,
    /^WARNING for 2 h: The clock is slow\.\n {2}Set it\.$/m,
  ])
    assert.match(text, words);
});

test('the status text fits any terminal, and a program that reads it gets the table', () => {
  for (const columns of [40, 60, 80, 200])
    for (const line of statusText(busy, columns).split('\n')) assert.ok(line.length <= columns, `${columns}: ${line}`);
  assert.match(statusText(busy, 40), /^PROGRAM {4}server$/im);
  assert.match(
    statusText({ ...busy, programs: { ...busy.programs, agent: { ...program, running: 'x'.repeat(90) } } }),
    /^PROGRAM/m,
  );
});

test('the configuration: "in effect" alone only where everything that was saved is', () => {
  const slice = (state: SliceReport['state'], more: Partial<SliceReport> = {}): SliceReport => ({
    slice: 'server',
    state,
    revision: 3,
    since,
    code: '',
    reason: state === 'in effect' ? '' : 'why',
    ineffective_paths: [],
    ...more,
  });
  const shown = (config: Partial<AgentStatus['config']>): string =>
    statusText({ ...status, config: { ...status.config, ...config } }, 200)
      .split('\n')
      .filter((line) => /^(?:config| +but) /.test(line))
      .map((line) => line.trim().replace(/ +/g, ' '))
      .join(' | ');
  const from = 'as the management server has it';
  assert.equal(shown({}), `config revision 1 in effect, ${from}`, 'of an older agent, as before');
  const both = { revision: 3, received_revision: 3 };
  assert.equal(shown({ ...both, slices: [slice('in effect')] }), `config revision 3 in effect, ${from}`);
  assert.equal(
    shown({ ...both, slices: [slice('no effect', { slice: 'network', ineffective_paths: ['agent.a', 'agent.b'] })] }),
    `config revision 3 partly in effect, ${from} | but network: no effect here: agent.a, agent.b (why)`,
  );
  assert.equal(
    shown({ ...both, slices: [slice('not reported')] }),
    `config revision 3 partly in effect, ${from} | but server: why`,
  );
  assert.equal(
    shown({ revision: 2, received_revision: 3, slices: [slice('lagging')] }),
    `config revision 3 not in effect, 2 is; ${from} | but server not in effect for 2 h: why`,
  );
  assert.equal(
    shown({ ...both, slices: [slice('lagging')] }),
    `config revision 3 not in effect; ${from} | but server not in effect for 2 h: why`,
  );
});
