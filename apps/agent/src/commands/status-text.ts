import { serverStates, updateStates } from '@platform/contract/machine/program-states';
import { networkRowStates } from '@platform/contract/machine/network-states';
import { withTimeLeft } from '@platform/contract/machine/restart-wait';
import type {
  AgentStatus,
  NetworkRowReport,
  ProgramExit,
  ProgramReport,
  SliceReport,
  StatusCondition,
} from '@platform/contract/machine/agent-status';
import { formatBytes, formatDuration } from '@platform/kit';
import { listed, tabled, wrapped } from './terminal-text.ts';

const standardWidth = 80;

type Since = (time: string | null) => string;
type Row = [name: string, text: string];

/** The status for display, at most `columns` wide; undefined: there is no terminal. */
export function statusText(status: AgentStatus, columns?: number): string {
  const width = columns ?? standardWidth;
  const now = Date.parse(status.at);
  const since: Since = (time) => (time === null ? '' : formatDuration(Math.max(0, now - Date.parse(time)) / 1000));
  const programs = (['agent', 'server'] as const).map((name) => ({ name, ...status.programs[name] }));
  return [
    ...listed(rowsOf(status, since), width),
    '',
    ...tabled(
      ['program', 'running', 'installed', 'wanted', 'previous'],
      programs.map(({ name, running, installed, wanted, previous }) => [
        name,
        running || '-',
        installed || '-',
        wanted || '-',
        previous || '-',
      ]),
      columns,
    ),
    ...programs.flatMap((program) =>
      programLines(program.name, { ...program, why: whyText(program, now) }, since, width),
    ),
    ...status.conditions.flatMap((condition) => conditionLines(condition, since, width)),
  ].join('\n');
}

/** Why a version runs, with the time left until a waiting one may start. */
function whyText({ why, wait }: ProgramReport, now: number): string {
  if (!wait || wait.until === null) return why;
  return withTimeLeft(why, waitView(wait), now, (ms) => formatDuration(ms / 1000));
}

const waitView = ({ reason, until }: NonNullable<ProgramReport['wait']>) => ({
  reason,
  untilMs: until === null ? undefined : Date.parse(until),
});

const joined = (...parts: (string | false)[]): string => parts.filter(Boolean).join(', ');
const processText = (pid: number | null): string => (pid === null ? '' : `process ${pid}`);

function rowsOf(status: AgentStatus, since: Since): Row[] {
  const { agent, config } = status;
  return [
    ['machine', joined(agent.part_id, agent.hostname, agent.platform, agent.os)],
    ['agent', agentText(status, since)],
    ['server', serverText(status, since)],
    ['cloud', cloudText(status, since)],
    ...networkRows(status, since),
    ...systemRows(status, since),
    ['config', configText(status)],
    ...(config.slices ?? []).flatMap((slice) => sliceRows(slice, since)),
    ['logs', logText(status)],
  ];
}

function agentText(status: AgentStatus, since: Since): string {
  const { agent } = status;
  if (!status.is_running) return `not running${agent.version === '' ? '' : `; version ${agent.version}`}`;
  const kept = agent.is_supervised_by_systemd ? 'supervised by systemd' : 'not supervised';
  return joined(agent.version, processText(agent.pid), `up ${since(agent.started)}`, kept);
}

function serverText({ at, server, programs }: AgentStatus, since: Since): string {
  const wait = programs.server.start_wait;
  const waits = wait && withTimeLeft(wait.reason, waitView(wait), Date.parse(at), (ms) => formatDuration(ms / 1000));
  const up = server.since === null ? '' : ` for ${since(server.since)}`;
  return joined(
    `${serverStates[server.at].text}${server.version === '' ? '' : ` ${server.version}`}${up}`,
    waits ?? false,
    processText(server.pid),
    server.url,
    server.restarts > 0 && `${server.restarts} restarts`,
    server.last_exit !== '' && `last end: ${server.last_exit}`,
  );
}

function cloudText({ is_running: isRunning, cloud }: AgentStatus, since: Since): string {
  if (cloud.address === '') return '';
  if (!isRunning) return cloud.address;
  const last =
    cloud.last_contact === null
      ? 'not reached since the agent started'
      : `last reached ${since(cloud.last_contact)} ago`;
  return `${cloud.address}, ${cloud.is_reached ? `reached for ${since(cloud.since)}` : last}`;
}

function networkRows({ at, network, is_running: isRunning }: AgentStatus, since: Since): Row[] {
  if (!network || !isRunning) return [];
  const modes = {
    unmanaged: 'not managed by the agent',
    normal: network.has_link ? 'connected' : 'not connected',
    joining: 'joining a network',
    hotspot: network.hotspot_ssid === '' ? 'set-up by a user' : `hotspot ${network.hotspot_ssid}`,
    rebooting: 'rebooting',
  };
  const checkedOn = network.connectivity_checked_on ?? null;
  const internet = `internet ${network.connectivity}${checkedOn === null ? '' : ` (checked ${since(checkedOn)} ago)`}`;
  const rows: Row[] = [
    ['network', `${joined(`${modes[network.mode]} for ${since(network.since)}`, internet)}: ${network.why}`],
  ];
  const untilMs = network.next_at === null ? 0 : Date.parse(network.next_at) - Date.parse(at);
  if (network.next !== '')
    rows.push(['  next', `${network.next}${untilMs > 0 ? `, in ${formatDuration(untilMs / 1000)}` : ''}`]);
  for (const note of network.notes ?? []) rows.push(['  note', note]);
  for (const row of [...(network.networks ?? []), ...(network.settings ?? [])])
    rows.push(['  row', rowText(row, since)]);
  const [last] = network.attempts;
  if (last) rows.push(['  last', `${last.network}, ${since(last.at)} ago: ${last.text || 'connected'}`]);
  return rows;
}

/** "Barn: out of range for 3 h, last seen 3 h ago: stored, not seen any more". */
function rowText(
  { path, name, state, text, code, has_no_effect: hasNoEffect, ...row }: NetworkRowReport,
  since: Since,
): string {
  const isLasting = row.since !== null && state !== 'not-known';
  const facts = joined(
    `${networkRowStates[state].text}${isLasting ? ` for ${since(row.since)}` : ''}`,
    hasNoEffect && 'no effect here',
    row.last_seen !== null && state !== 'in-use' && `last seen ${since(row.last_seen)} ago`,
  );
  return `${name === '' ? path.split('.').at(-1) : name}: ${facts}: ${text}${code === '' ? '' : ` (${code})`}`;
}

function configText({ config }: AgentStatus): string {
  const from = { cloud: 'as the management server has it', cache: 'kept from an earlier time', none: '' }[
    config.source
  ];
  if (config.source === 'none') return 'none yet, the defaults hold';
  const { revision, received_revision: received = revision, slices = [] } = config;
  const isWhole = slices.every(({ state }) => state !== 'lagging');
  const isPartly = slices.some((one) => one.ineffective_paths.length > 0 || one.state === 'not reported');
  if (isWhole && (slices.length > 0 || revision === received))
    return `revision ${received} ${isPartly ? 'partly ' : ''}in effect, ${from}`;
  return `revision ${received} not in effect${revision > 0 && revision !== received ? `, ${revision} is` : ''}; ${from}`;
}

function sliceRows({ slice, state, since: began, reason, ineffective_paths: paths }: SliceReport, since: Since): Row[] {
  const texts = [];
  if (state === 'lagging')
    texts.push(`${slice} not in effect${began === null ? '' : ` for ${since(began)}`}: ${reason}`);
  if (state === 'not reported') texts.push(`${slice}: ${reason}`);
  if (paths.length > 0)
    texts.push(`${slice}: no effect here: ${paths.join(', ')}${state === 'no effect' ? ` (${reason})` : ''}`);
  return texts.map((text): Row => ['  but', text]);
}

function logText({ logs }: AgentStatus): string {
  const { waiting_lines: waiting, dropped_lines: dropped } = logs;
  return joined(waiting > 0 && `${waiting} lines wait to be sent`, dropped > 0 && `${dropped} had no room`);
}

function programLines(name: string, program: ProgramReport, since: Since, width: number): string[] {
  const { why, pin, trial, quarantined, last_exit: exit, last_update: last } = program;
  const lines = listed(
    [
      ['why', why],
      ['pinned', pin === '' ? '' : `to ${pin}, on this machine`],
      ['signed', signedText(program)],
      [
        'trial',
        trial?.starts === 0
          ? `${trial.version} has not started yet, and is on trial from its first start on; before it ${trial.previous}`
          : trial
            ? `${trial.version} is on trial${trial.since === null ? '' : ` for ${since(trial.since)}`}, start ${trial.starts} of 3; before it ${trial.previous}`
            : '',
      ],
      ...quarantined.flatMap((bad): Row[] => [
        ['bad', `${bad.version}${bad.since === null ? '' : ` for ${since(bad.since)}`}: ${bad.reason}`],
        ...(bad.exit ? exitRows('ended', bad.exit, since) : []),
      ]),
      ['update', last ? updateText(last, since) : ''],
      // An exit that is shown under a quarantined version is not repeated.
      ...(exit && !quarantined.some((bad) => bad.exit?.version === exit.version && bad.exit.since === exit.since)
        ? exitRows('ended', exit, since)
        : []),
    ],
    width - 2,
  );
  return lines.length === 0 ? [] : ['', name, ...lines.map((line) => `  ${line}`)];
}

function signedText(of: ProgramReport): string {
  const { running, installed, is_unsigned: isUnsigned, is_installed_unsigned: isNext } = of;
  const file = running === '' ? 'installed' : 'running';
  if (isUnsigned) return `no: no release key signed the ${file} file`;
  return isNext && running !== installed ? 'the running file yes, the installed one no: no release key signed it' : '';
}

function exitRows(name: string, exit: ProgramExit, since: Since): Row[] {
  const { version, reason, lines } = exit;
  return [
    [name, `${joined(version, exit.since !== null && `${since(exit.since)} ago`) || 'unknown version'}: ${reason}`],
    ...lines.map((line): Row => ['  |', line]),
  ];
}

function updateText(last: NonNullable<ProgramReport['last_update']>, since: Since): string {
  const progress =
    last.state === 'downloading' && last.size_bytes > 0
      ? ` ${formatBytes(last.downloaded_bytes)} of ${formatBytes(last.size_bytes)}`
      : '';
  const ago = last.since === null ? '' : `, ${since(last.since)} ago`;
  return `${last.from === '' ? '' : `${last.from} to `}${last.version}: ${updateStates[last.state].text}${progress}${ago}${last.reason === '' ? '' : `: ${last.reason}`}`;
}

function conditionLines(
  { severity, message, remedy, path, since: began }: StatusCondition,
  since: Since,
  width: number,
): string[] {
  const lasting = began === null ? '' : ` for ${since(began)}`;
  const place = path === undefined || message.includes(path) ? '' : `${path}: `;
  return [
    '',
    ...wrapped(`${severity.toUpperCase()}${lasting}: ${place}${message}`, width),
    ...wrapped(remedy, width - 2).map((line) => `  ${line}`),
  ];
}

const mostNames = 5;

const named = (names: readonly string[]): string =>
  names.length > mostNames
    ? `${names.slice(0, mostNames).join(', ')} and ${names.length - mostNames} more`
    : names.join(', ');

/** Upgrades that wait, the last run, and the reboot that is needed. Empty: not known. */
function systemRows(
  { system }: Pick<AgentStatus, 'system'>,
  since: (time: string | null) => string,
): [name: string, text: string][] {
  if (!system) return [];
  const { waiting_count: count, security_count: security, last_run: run, reboot, task, why } = system;
  const waits = count === 0 ? 'no upgrade waits' : count === 1 ? '1 upgrade waits' : `${count} upgrades wait`;
  const rows: [string, string][] = [
    ...(why ? [`not managed by the agent: ${why}`] : []),
    ...(system.has_apt === false ? [] : [`${waits}${security > 0 ? `, ${security} for security` : ''}`]),
  ].map((text, at) => [at === 0 ? 'system' : '', text]);
  if (task !== '') rows.push(['  now', task]);
  if (run) {
    const ago = run.started === null ? '' : `${since(run.started)} ago: `;
    const packages = named(run.packages.map((one) => `${one.package} ${one.to}`));
    rows.push(['  last', `upgraded ${ago}${packages}${run.problem === '' ? '' : `; ${run.problem}`}`]);
  }
  if (reboot) {
    const began = reboot.since === null ? '' : ` for ${since(reboot.since)}`;
    const wait = reboot.wait === '' ? '' : `: ${reboot.wait}`;
    rows.push(['  reboot', `needed${began} because of ${named(reboot.causes) || 'an upgrade'}${wait}`]);
  }
  return rows;
}
