import type { AgentStatus, ProgramExit, ProgramReport, SliceReport } from '@platform/contract/agent-status';
import { formatBytes, formatDuration } from '@platform/kit';
import { listed, tabled, wrapped } from './words.ts';

const standardWidth = 80;

/** The status for display, at most `columns` wide; undefined: there is no terminal. */
export function statusText(status: AgentStatus, columns?: number): string {
  const width = columns ?? standardWidth;
  const { agent, cloud, config, server, programs, logs } = status;
  const now = Date.parse(status.at);
  const since = (time: string | null): string =>
    time === null ? '' : formatDuration(Math.max(0, now - Date.parse(time)) / 1000);
  const joined = (...parts: (string | false)[]): string => parts.filter(Boolean).join(', ');
  const process = (pid: number | null): string => (pid === null ? '' : `process ${pid}`);

  const rows: [string, string][] = [
    ['machine', joined(agent.part_id, agent.hostname, agent.platform, agent.os)],
    ['agent', agentWords()],
    [
      'server',
      joined(
        serverWords(),
        process(server.pid),
        server.url,
        server.restarts > 0 && `${server.restarts} restarts`,
        server.last_exit !== '' && `last end: ${server.last_exit}`,
      ),
    ],
    ['cloud', cloudWords()],
    ['config', configWords()],
    ...(config.slices ?? []).flatMap(sliceRows),
    ['logs', logWords()],
  ];
  return [
    ...listed(rows, width),
    '',
    ...tabled(
      ['program', 'running', 'installed', 'wanted', 'previous'],
      (['agent', 'server'] as const).map((name) => {
        const { running, installed, wanted, previous } = programs[name];
        return [name, running || '-', installed || '-', wanted || '-', previous || '-'];
      }),
      columns,
    ),
    ...(['agent', 'server'] as const).flatMap((name) => programWords(name, programs[name])),
    ...status.conditions.flatMap(({ severity, message, remedy, path, since: began }) => [
      '',
      ...wrapped(
        `${severity.toUpperCase()}${began === null ? '' : ` for ${since(began)}`}: ${path === undefined || message.includes(path) ? '' : `${path}: `}${message}`,
        width,
      ),
      ...wrapped(remedy, width - 2).map((line) => `  ${line}`),
    ]),
  ].join('\n');

  function logWords(): string {
    const { waiting_lines: waiting, dropped_lines: dropped } = logs;
    return joined(waiting > 0 && `${waiting} lines wait to be sent`, dropped > 0 && `${dropped} had no room`);
  }

  function agentWords(): string {
    if (!status.is_running) return `not running${agent.version === '' ? '' : `; version ${agent.version}`}`;
    const kept = agent.is_supervised_by_systemd ? 'kept by systemd' : 'kept by nobody';
    return joined(agent.version, process(agent.pid), `up ${since(agent.started)}`, kept);
  }

  function serverWords(): string {
    const up = server.since === null ? '' : ` for ${since(server.since)}`;
    return `${server.at === 'waiting' ? 'ended, waits for its next start' : server.at}${server.version === '' ? '' : ` ${server.version}`}${up}`;
  }

  function cloudWords(): string {
    if (cloud.address === '') return '';
    if (!status.is_running) return cloud.address;
    const last =
      cloud.last_contact === null
        ? 'not reached since the agent started'
        : `last reached ${since(cloud.last_contact)} ago`;
    return `${cloud.address}, ${cloud.is_reached ? `reached for ${since(cloud.since)}` : last}`;
  }

  function configWords(): string {
    const from = { cloud: 'as the management server has it', cache: 'kept from an earlier time', none: '' }[
      config.source
    ];
    if (config.source === 'none') return 'none yet, the defaults hold';
    const { revision, received_revision: received = revision, slices = [] } = config;
    const isWhole = slices.every(({ state }) => state !== 'lagging');
    const isPartly = slices.some((one) => one.ineffective_paths.length > 0 || one.state === 'not reported');
    if (revision === received && isWhole) return `revision ${revision} ${isPartly ? 'partly ' : ''}in effect, ${from}`;
    return `revision ${received} not in effect${revision > 0 && revision < received ? `, ${revision} is` : ''}; ${from}`;
  }

  function sliceRows({
    slice,
    state,
    since: began,
    reason,
    ineffective_paths: paths,
  }: SliceReport): [string, string][] {
    const words = [];
    if (state === 'lagging')
      words.push(`${slice} not in effect${began === null ? '' : ` for ${since(began)}`}: ${reason}`);
    if (state === 'not reported') words.push(`${slice}: ${reason}`);
    if (paths.length > 0)
      words.push(`${slice}: no effect here: ${paths.join(', ')}${state === 'no effect' ? ` (${reason})` : ''}`);
    return words.map((text) => ['  but', text]);
  }

  function programWords(name: string, program: ProgramReport): string[] {
    const { why, pin, trial, quarantined, last_exit: exit, last_update: last } = program;
    const lines = listed(
      [
        ['why', why],
        ['pinned', pin === '' ? '' : `to ${pin}, on this machine`],
        ['signed', signedWords(program)],
        [
          'trial',
          trial
            ? `${trial.version} is on trial${trial.since === null ? '' : ` for ${since(trial.since)}`}, start ${trial.starts} of 3; before it ${trial.previous}`
            : '',
        ],
        ...quarantined.flatMap((bad): [string, string][] => [
          ['bad', `${bad.version}${bad.since === null ? '' : ` for ${since(bad.since)}`}: ${bad.reason}`],
          ...(bad.exit ? exitRows('ended', bad.exit) : []),
        ]),
        ['update', last ? updateWords(last) : ''],
        // An exit that is shown under a quarantined version is not repeated.
        ...(exit && !quarantined.some((bad) => bad.exit?.version === exit.version && bad.exit.since === exit.since)
          ? exitRows('ended', exit)
          : []),
      ],
      width - 2,
    );
    return lines.length === 0 ? [] : ['', name, ...lines.map((line) => `  ${line}`)];
  }

  function signedWords({
    running,
    installed,
    is_unsigned: isUnsigned,
    is_installed_unsigned: isNext,
  }: ProgramReport): string {
    const file = running === '' ? 'installed' : 'running';
    if (isUnsigned) return `no: no release key signed the ${file} file`;
    return isNext && running !== installed
      ? 'the running file yes, the installed one no: no release key signed it'
      : '';
  }

  function exitRows(name: string, exit: ProgramExit): [string, string][] {
    const { version, reason, lines } = exit;
    return [
      [name, `${joined(version, exit.since !== null && `${since(exit.since)} ago`) || 'unknown version'}: ${reason}`],
      ...lines.map((line): [string, string] => ['  |', line]),
    ];
  }

  function updateWords(last: NonNullable<ProgramReport['last_update']>): string {
    const progress =
      last.state === 'downloading' && last.size_bytes > 0
        ? ` ${formatBytes(last.downloaded_bytes)} of ${formatBytes(last.size_bytes)}`
        : '';
    const ago = last.since === null ? '' : `, ${since(last.since)} ago`;
    return `${last.from === '' ? '' : `${last.from} to `}${last.version}: ${last.state}${progress}${ago}${last.reason === '' ? '' : `: ${last.reason}`}`;
  }
}
