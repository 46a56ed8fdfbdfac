import { unusableRemedy } from '@platform/kit/node';
import { neededBytes } from '../install/install-plan.ts';
import { noexecProblem } from '../os/mounts.ts';
import type { Observations } from './observations.ts';

export interface CheckResult {
  /** The check; a constant name that programs can rely on. */
  name: string;
  at: 'ok' | 'note' | 'warning' | 'failed';
  says: string;
  remedy: string;
}

const leastBytes = 50_000_000;
const spoolLimitBytes = 12 * 2 ** 20;
const mostAheadMs = 5 * 60_000;

/** Evaluates the observations, in the order in which an operator would check. */
export function checkResults(f: Observations): CheckResult[] {
  return [
    account(f),
    credentials(f),
    service(f),
    gate(f),
    ...f.programs.map(({ name, id, problem }): CheckResult => {
      if (problem !== '')
        return failed(name, problem, 'Repair it with `platform-agent install`, or choose another version.');
      return id === null ? note(name, 'No version is installed yet.') : ok(name, `${id} is complete and undamaged.`);
    }),
    ...versions(f),
    agent(f),
    server(f),
    ...f.unusableProxies.map((text) => failed('proxy', `${text} The agent connects without it.`, unusableRemedy)),
    ...cloud(f),
    disk(f),
    ...mount(f),
    spool(f),
  ];
}

/** The worst state among them; ok if there is none. */
export const worstOf = (results: readonly CheckResult[]): CheckResult['at'] =>
  (['failed', 'warning', 'note'] as const).find((at) => results.some((v) => v.at === at)) ?? 'ok';

const ok = (name: string, says: string): CheckResult => ({ name, at: 'ok', says, remedy: '' });
const note = (name: string, says: string): CheckResult => ({ name, at: 'note', says, remedy: '' });
const warning = (name: string, says: string, remedy: string): CheckResult => ({ name, at: 'warning', says, remedy });
const failed = (name: string, says: string, remedy: string): CheckResult => ({ name, at: 'failed', says, remedy });

function account({ isRoot, root }: Observations): CheckResult {
  if (isRoot) return ok('account', 'The doctor runs as root and can read everything.');
  return warning('account', `Without root, much of ${root} cannot be read.`, 'Run it again with sudo.');
}

function credentials({ credentials: found, credentialsFile: file, credentialsMode: mode }: Observations): CheckResult {
  const copy = 'Copy the credentials of this machine from the management app, or see `platform-agent provision`.';
  if (found.at === 'closed') return note('credentials', `${file} exists; only root can read it.`);
  if (found.at === 'none') return failed('credentials', `There is no credentials file ${file}.`, copy);
  if (found.at === 'unusable') return failed('credentials', `${file} cannot be used: ${found.problem}.`, copy);
  if (mode !== undefined && (mode & 0o077) !== 0) {
    const bits = (mode & 0o777).toString(8);
    return warning('credentials', `${file} can be read by others (mode ${bits}).`, `Change that: chmod 600 ${file}`);
  }
  return ok('credentials', `${file} names part ${found.partId} at ${found.appAddress}.`);
}

function service({ systemd }: Observations): CheckResult {
  if (!systemd) return note('service', 'systemd does not run here: nothing restarts the agent if it stops.');
  const { activeState, isEnabled, isUnitThere, needsReload, result, restarts } = systemd;
  const log = 'See why: journalctl -u platform-agent -n 50';
  if (!isUnitThere) return failed('service', 'There is no unit platform-agent.service.', 'Run: platform-agent install');
  if (activeState !== 'active' && activeState !== 'reloading') {
    const start = activeState === 'inactive' ? 'Start it: systemctl start platform-agent' : log;
    return failed('service', `platform-agent.service is ${activeState}; its last result was: ${result}.`, start);
  }
  if (!isEnabled) {
    return warning('service', 'The agent is not started at boot.', 'Change that: systemctl enable platform-agent');
  }
  if (needsReload) {
    return warning('service', 'The unit file changed after systemd loaded it.', 'Run: systemctl daemon-reload');
  }
  if (restarts > 2) return warning('service', `systemd has restarted the agent ${restarts} times.`, log);
  return ok('service', 'platform-agent.service is active and starts at boot.');
}

function gate({ gate: { isThere, isCurrent, problem }, systemd, root }: Observations): CheckResult {
  if (!isThere) {
    if (!systemd?.isUnitThere) return note('gate', 'No gate is installed; without a service nothing would run it.');
    return failed(
      'gate',
      `${root}/lib/gate is missing: a failing agent would not be rolled back.`,
      'Run: platform-agent install',
    );
  }
  if (problem !== '')
    return failed('gate', `The shell cannot read ${root}/lib/gate: ${problem}`, 'Run: platform-agent install');
  if (!isCurrent)
    return warning('gate', 'The gate belongs to another version of the agent.', 'Run: platform-agent install');
  return ok('gate', 'A version that fails its health check is rolled back.');
}

const trialText = ({ version, starts }: { version: string; starts: number }): string =>
  starts === 0
    ? `${version} has not started yet; from its first start on, it must pass the health check.`
    : `${version} must pass the health check, start ${starts} of 3.`;

function versions({ status }: Observations): CheckResult[] {
  return Object.entries(status?.programs ?? {}).flatMap(([name, { trial, quarantined, is_unsigned }]) => [
    ...(trial ? [note(`${name} trial`, trialText(trial))] : []),
    ...quarantined.map(({ version, reason }) =>
      warning(
        `${name} quarantine`,
        `Version ${version} failed here and is not used: ${reason}.`,
        `Configure another version, or try it again: platform-agent clear ${name}`,
      ),
    ),
    ...(is_unsigned
      ? [note(`${name} signature`, 'The file in use has no release signature; an owner consented to it.')]
      : []),
  ]);
}

function agent({ status, isSilent, systemd, isRoot }: Observations): CheckResult {
  if (isSilent) {
    const restart = systemd?.isUnitThere ? 'systemctl restart platform-agent' : 'stop its process and start it again';
    return failed(
      'agent',
      'An agent is running but does not answer.',
      `The agent hangs, or the machine is overloaded. Restart it: ${restart}`,
    );
  }
  if (!status && !isRoot) return note('agent', 'The agent answers root only.');
  if (!status) {
    const remedy = systemd?.isUnitThere ? 'See: journalctl -u platform-agent -n 50' : 'Start it: platform-agent run';
    return failed('agent', 'No agent answers on its control socket.', remedy);
  }
  const reported = status.conditions.filter(({ severity }) => severity !== 'note');
  if (reported.length === 0) return ok('agent', `Version ${status.agent.version} runs, process ${status.agent.pid}.`);
  const worst = reported.find(({ severity }) => severity === 'error') ?? reported[0]!;
  return warning('agent', reported.map(({ message }) => message).join(' '), worst.remedy);
}

function server({ status }: Observations): CheckResult {
  if (!status) return note('machine server', 'Unknown: only a running agent reports its state.');
  const { at, version, url, last_exit: lastExit, is_restart_needed: isNeeded } = status.server;
  if (status.programs.server.installed === '' && at === 'stopped') {
    return note('machine server', 'No version is installed yet.');
  }
  if (at === 'disabled') return note('machine server', 'The configuration disables it.');
  if (at === 'running' && url !== '') {
    const other = isNeeded ? ' Another version is installed and is used after a restart.' : '';
    return ok('machine server', `Version ${version} answers at ${url}.${other}`);
  }
  if (at === 'waiting' || lastExit !== '') {
    return failed(
      'machine server',
      `It is ${at}; its last exit was: ${lastExit || 'not observed'}.`,
      'See: platform-agent logs --server',
    );
  }
  const wait = status.programs.server.start_wait;
  if (wait) return note('machine server', `It has not started: ${wait.reason}.`);
  return warning(
    'machine server',
    `It is ${at} and does not answer yet.`,
    'Wait a minute. If that does not help, see: platform-agent logs --server',
  );
}

function cloud({ cloud: found, status }: Observations): CheckResult[] {
  if (!found) return [note('management server', 'Without credentials, its URL is unknown.')];
  const { address, proxy, problem, tookMs, aheadMs } = found;
  const by = proxy === '' ? '' : ` through ${proxy}`;
  const list: CheckResult[] = [
    problem
      ? failed('management server', `${problem.what}${by === '' ? '' : ` The connection went${by}.`}`, problem.remedy)
      : ok('management server', `${address} answered${by} after ${Math.round(tookMs)} ms and accepts the credentials.`),
  ];
  if (aheadMs !== undefined && Math.abs(aheadMs) > mostAheadMs) {
    const minutes = Math.round(Math.abs(aheadMs) / 60_000);
    list.push(
      warning(
        'clock',
        `This machine's clock is ${minutes} minutes ${aheadMs > 0 ? 'ahead of' : 'behind'} the management server's.`,
        'Synchronize it with a time server: timedatectl set-ntp true',
      ),
    );
  } else if (aheadMs !== undefined) list.push(ok('clock', 'The clock agrees with the management server.'));
  if (!problem && status && !status.cloud.is_reached) {
    list.push(
      warning(
        'agent to server',
        'The doctor reaches the management server, but the agent does not.',
        'The agent uses the proxy settings from installation time. Compare them with the current ones.',
      ),
    );
  }
  return list;
}

function disk({ freeBytes, fileSystem, root }: Observations): CheckResult {
  const free = `${Math.floor(freeBytes / 1e6)} MB are free for ${root}`;
  if (fileSystem?.inodes?.free === 0)
    return failed(
      'disk',
      `No inodes are free on the file system at ${fileSystem.mountPoint}, which holds ${root}: no file can be created, although ${free}.`,
      'Delete files on it.',
    );
  if (freeBytes < leastBytes)
    return failed(
      'disk',
      `${free}, too few for updates and logs (at least ${leastBytes / 1e6} MB).`,
      'Free some space on that disk.',
    );
  if (freeBytes < neededBytes)
    return warning(
      'disk',
      `${free}; an update needs ${Math.ceil(neededBytes / 1e6)} MB.`,
      'Free some space on that disk.',
    );
  return ok('disk', `${free}.`);
}

function mount({ fileSystem, root }: Observations): CheckResult[] {
  if (fileSystem?.isNoExec !== true) return [];
  const { what, remedy } = noexecProblem(root, fileSystem.mountPoint);
  return [failed('mount', what, remedy)];
}

function spool({ spoolBytes }: Observations): CheckResult {
  const size = `${(spoolBytes / 1e6).toFixed(1)} MB of log lines on disk wait for their upload`;
  if (spoolBytes < spoolLimitBytes) return ok('logs', `${size}.`);
  return warning(
    'logs',
    `${size}; beyond ${spoolLimitBytes / 2 ** 20} MiB the oldest are dropped.`,
    'Connect the machine to the management server.',
  );
}
