import type { AgentStatus } from '@platform/contract/machine/agent-status';

export const program = {
  running: '1.0.0',
  installed: '1.0.0',
  wanted: '1.0.0',
  desired: 'stable',
  pin: '',
  previous: '',
  trial: null,
  quarantined: [],
  last_update: null,
  why: '',
  is_unsigned: false,
};
/** Status of a machine without conditions. */
export const status: AgentStatus = {
  at: '2026-01-01T00:00:00.000Z',
  is_running: true,
  agent: {
    version: '1.0.0',
    pid: 100,
    part_id: 'part',
    root: '/opt/platform',
    started: null,
    is_supervised_by_systemd: true,
    hostname: 'barn',
    platform: 'linux/amd64',
    os: 'debian:12',
  },
  cloud: { address: 'https://c', is_reached: true, since: null, last_contact: null },
  config: { revision: 1, source: 'cloud', corrections: [] },
  server: {
    at: 'running',
    version: '1.0.0',
    pid: 200,
    since: null,
    url: 'http://127.0.0.1:1',
    restarts: 0,
    last_exit: '',
    is_restart_allowed: true,
    is_restart_needed: false,
  },
  programs: { agent: program, server: program },
  conditions: [],
  logs: { waiting_lines: 0, dropped_lines: 0, spool_bytes: 0 },
};
