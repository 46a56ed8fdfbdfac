import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { processStartTime, systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { childEnvironment, environmentText } from '../../environment.ts';
import { exitReason } from '../../../state/exit-reason.ts';
import { pipesOpened, readUnitState } from './systemd.ts';

/** Output of systemd 252 for the unit of a machine server in each of its states. */
const outputs = {
  'never started': ['LoadState=not-found', 'MainPID=0', 'ExecMainPID=0', 'ExecMainCode=0', 'ExecMainStatus=0'],
  runs: ['MainPID=74', 'ExecMainPID=74', 'ExecMainCode=0', 'ExecMainStatus=0', 'LoadState=loaded'],
  'ended with 0': ['MainPID=0', 'ExecMainPID=95', 'ExecMainCode=1', 'ExecMainStatus=0', 'LoadState=loaded'],
  'ended with 3': ['MainPID=0', 'ExecMainPID=102', 'ExecMainCode=1', 'ExecMainStatus=3', 'LoadState=loaded'],
  'ended by QUIT': ['MainPID=0', 'ExecMainPID=74', 'ExecMainCode=2', 'ExecMainStatus=3', 'LoadState=loaded'],
  'dumped core': ['MainPID=0', 'ExecMainPID=80', 'ExecMainCode=3', 'ExecMainStatus=6', 'LoadState=loaded'],
};

test('the state of a unit is parsed', () => {
  const read = Object.fromEntries(
    Object.entries(outputs).map(([name, lines]) => {
      const { isLoaded, pid, lastPid, exit } = readUnitState(`${lines.join('\n')}\n`);
      return [name, [isLoaded, pid, lastPid, exit.code, exit.signal]];
    }),
  );
  assert.deepEqual(read, {
    'never started': [false, 0, 0, null, null],
    runs: [true, 74, 74, null, null],
    'ended with 0': [true, 0, 95, 0, null],
    'ended with 3': [true, 0, 102, 3, null],
    'ended by QUIT': [true, 0, 74, null, 'SIGQUIT'],
    'dumped core': [true, 0, 80, null, 'SIGABRT'],
  });
});

test('a process that the OOM killer ended is distinguished from others', () => {
  const killed = ['MainPID=0', 'ExecMainPID=74', 'ExecMainCode=2', 'ExecMainStatus=9', 'LoadState=loaded'];
  const reasons = ['Result=signal', 'Result=oom-kill'].map((result) =>
    exitReason(readUnitState([...killed, result].join('\n')).exit),
  );
  assert.deepEqual(reasons, ['signal SIGKILL', 'killed by the kernel because memory ran out']);
});

test('an environment is written so that systemd reads it back, and holds nothing that was meant for the agent', () => {
  const env = {
    PATH: '/usr/bin',
    HTTPS_PROXY: 'http://u:p"a$s`s\\@proxy:3128',
    TWO: 'first\nsecond',
    'not a name': 'x',
    GONE: undefined,
  };
  const lines = ['PATH="/usr/bin"', 'HTTPS_PROXY="http://u:p\\"a\\$s\\`s\\\\@proxy:3128"', 'TWO="first\nsecond"', ''];
  assert.equal(environmentText(env), lines.join('\n'));
  const ours = {
    ...env,
    NOTIFY_SOCKET: '/run/systemd/notify',
    WATCHDOG_USEC: '60000000',
    INVOCATION_ID: 'a',
    SYSTEMD_EXEC_PID: '1',
    BUN_OPTIONS: '--inspect',
    LD_PRELOAD: 'x.so',
    PLATFORM_API_KEY: 'set for a command',
  };
  assert.deepEqual(Object.keys(childEnvironment(ours)), ['PATH', 'HTTPS_PROXY', 'TWO', 'not a name']);
});

test(
  'a start is complete when the shell has opened the pipes, or has ended',
  { skip: process.platform !== 'linux' },
  async () => {
    await using folder = await tempFolder();
    const [stdout, stderr] = [folder.file('stdout'), folder.file('stderr')];
    execFileSync('mkfifo', [stdout, stderr]);
    for (const script of ['read go; exec sleep 60 1<>"$1" 2<>"$2"', 'read go; exit 3']) {
      const shell = spawn('/bin/sh', ['-c', script, 'sh', stdout, stderr], { stdio: ['pipe', 'ignore', 'ignore'] });
      await once(shell, 'spawn');
      const pid = shell.pid ?? 0;
      const id = { pid, startTime: processStartTime(pid) ?? '' };
      let isComplete = false;
      const opened = pipesOpened(id, { stdout, stderr }, systemClock).then(() => (isComplete = true));
      await Promise.race([opened, systemClock.sleep(50)]);
      assert.equal(isComplete, false, 'the shell has not opened them yet');
      shell.stdin.end('go\n');
      await opened;
      const ended = once(shell, 'exit');
      shell.kill('SIGKILL');
      if (shell.exitCode === null && shell.signalCode === null) await ended;
    }
  },
);
