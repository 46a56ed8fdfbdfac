/**
 * What a machine server and the agent that supervises it agree on: command line, environment, readiness line, restart
 * status and exit codes. A custom build that keeps to this file is supervised like `platform-server` itself;
 * docs/machine-server.md says the same in prose. No library is needed to read or write any of it.
 */
import { parseJsonText } from './json-text.ts';
import { objectOf, parseJson, parseObject } from './json-object.ts';

/** Environment that the agent sets for the server it starts. */
export const machineEnvironment = {
  /** `true`: the agent asks the cloud whether a restart is wanted; the server must not ask, too. */
  agentHandlesNeedsRestart: 'PLATFORM_AGENT_HANDLES_NEEDS_RESTART_CHECKING',
  /** `true`: log at level debug. */
  debug: 'PLATFORM_SERVER_DEBUG',
  /** ms since 1970, in the past for certain: what a certificate's end is compared with while the clock may be wrong. */
  timeFloor: 'PLATFORM_TIME_FLOOR',
  /** File with the authority that vouches for the management server beside those of the system, PEM. Unset: there is none. */
  certificateAuthority: 'PLATFORM_CERTIFICATE_AUTHORITY',
  /** Path of the socket at which the agent takes log lines (log-socket.ts); absent: send them with RobotService.Log. */
  logSocket: 'PLATFORM_AGENT_LOG_SOCKET',
} as const;

/** Name of the program, of its release and of its file. */
export const serverName = 'platform-server';

/** Exit codes of a machine server; the agent starts it again after any of them, with back-off. */
export const machineExit = {
  /** Stopped by SIGTERM, SIGINT or SIGQUIT. */
  stopped: 0,
  /** Wrong command line. */
  usage: 2,
  /** A failure that nobody foresaw; the last line on stderr says which. */
  failed: 70,
  /** The data folder can't be written. */
  noDataFolder: 73,
  /** Another server uses the data folder. */
  dataFolderInUse: 75,
  /** The credentials file is missing or malformed. */
  badCredentials: 78,
} as const;

/** What `--version` prints, as one JSON line. */
export interface ProgramVersion {
  readonly version: string;
  readonly binaryName: string;
}

/** A server that is ready to be used. */
export interface Readiness {
  /** Base address for GET /restart_status, on the loopback interface wherever the server offers one. */
  readonly url: string;
  /** Version of the program; absent when the server does not tell it. */
  readonly version?: string;
  readonly pid?: number;
  /** Revision of the machine's configuration that is in effect, 0: none yet. */
  readonly revision?: number;
}

/** Answer of GET /restart_status. */
export interface RestartStatus {
  /** False while a new configuration is being put in effect and while the maintenance reading says no. */
  readonly restartAllowed: boolean;
  /** True: the agent has to ask the cloud whether a restart is wanted. */
  readonly doesNotHandleNeedsRestart: boolean;
  readonly version?: string;
  readonly uptimeSeconds?: number;
  readonly reconfiguring?: boolean;
  /** Revision of the configuration in effect, 0: none yet. */
  readonly revision?: number;
  /** Present when the configuration names a maintenance sensor. */
  readonly maintenance?: MaintenanceReading;
  /** The program's file was replaced since the server started. */
  readonly restartNeeded?: boolean;
  /** Changes whenever the answer of GET /resource_status does; absent: the server has no such answer. */
  readonly resourceStatusEtag?: string;
  /** `host:port` of the plain RPC port that some public builds offer for an ordered shutdown. */
  readonly moduleServerTcpAddress?: string;
}

export interface MaintenanceReading {
  readonly allowed: boolean;
  /** What the sensor said, or why it could not be read; for people. */
  readonly reading: string;
}

/** Content of a machine's credentials file, checked. */
export interface MachineCredentials {
  /** Base address of the management server, without a slash at its end. */
  readonly appAddress: string;
  readonly partId: string;
  /** What AuthService.Authenticate is called with. */
  readonly entity: string;
  readonly type: 'robot-secret' | 'api-key';
  readonly payload: string;
  /** The authority that vouches for the management server beside those of the system, PEM. */
  readonly authority?: string;
}

/** `value`, or what is wrong with the input and what to do about it. */
export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problem: string; readonly remedy: string };

/** The one line that a server prints on stdout when it is ready. */
export function readyLine(ready: Required<Readiness>): string {
  const { version, url, pid, revision } = ready;
  return JSON.stringify({ platform_server: 'ready', version, url, pid, revision });
}

/** The same for agents of other products, which look for the word and these two members; they read nothing else of it. */
export const publicReadyLine = (url: string): string => `serving\t${JSON.stringify({ url, alt_url: url })}`;

/**
 * Reads a line of a server's stdout: our readiness line, or the public server's line with the word `serving` and the
 * members "url" and "alt_url". Undefined for any other line.
 */
export function parseReadyLine(line: string): Readiness | undefined {
  return ourReadyLine(line) ?? servingLine(line);
}

function ourReadyLine(line: string): Readiness | undefined {
  if (!line.includes('"platform_server"')) return undefined;
  const at = line.indexOf('{');
  const json = parseObject(at < 0 ? '' : line.slice(at));
  if (json?.['platform_server'] !== 'ready') return undefined;
  const url = httpUrl(json['url']);
  if (url === undefined) return undefined;
  return {
    url,
    ...optional('version', json['version'], isText),
    ...optional('pid', json['pid'], isCount),
    ...optional('revision', json['revision'], isCount),
  };
}

function servingLine(line: string): Readiness | undefined {
  if (!/\bserving\b/.test(line)) return undefined;
  // alt_url is the address on this machine; a server without a name from the cloud prints url alone.
  const url = httpUrl(/"alt_url"\s*:\s*"([^"]+)"/.exec(line)?.[1]) ?? httpUrl(/"url"\s*:\s*"([^"]+)"/.exec(line)?.[1]);
  return url === undefined ? undefined : { url };
}

/** JSON body of GET /restart_status. */
export function restartStatusJson(status: RestartStatus): Record<string, unknown> {
  return {
    restart_allowed: status.restartAllowed,
    does_not_handle_needs_restart: status.doesNotHandleNeedsRestart,
    version: status.version,
    uptime_s: status.uptimeSeconds,
    reconfiguring: status.reconfiguring,
    revision: status.revision,
    maintenance: status.maintenance,
    restart_needed: status.restartNeeded,
    resource_status_etag: status.resourceStatusEtag,
    module_server_tcp_addr: status.moduleServerTcpAddress,
  };
}

/** Reads an answer of GET /restart_status; only `restart_allowed` has to be there. Undefined: not such an answer. */
export function parseRestartStatus(body: unknown): RestartStatus | undefined {
  const json = objectOf(typeof body === 'string' ? parseJson(body) : body);
  if (json === undefined || typeof json['restart_allowed'] !== 'boolean') return undefined;
  const maintenance = objectOf(json['maintenance']);
  return {
    restartAllowed: json['restart_allowed'],
    doesNotHandleNeedsRestart: json['does_not_handle_needs_restart'] === true,
    ...optional('version', json['version'], isText),
    ...optional('uptimeSeconds', json['uptime_s'], isAmount),
    ...optional('reconfiguring', json['reconfiguring'], isFlag),
    ...optional('revision', json['revision'], isCount),
    ...optional('restartNeeded', json['restart_needed'], isFlag),
    ...optional('resourceStatusEtag', json['resource_status_etag'], isText),
    ...optional('moduleServerTcpAddress', json['module_server_tcp_addr'], isText),
    ...(maintenance && isFlag(maintenance['allowed'])
      ? { maintenance: { allowed: maintenance['allowed'], reading: textOf(maintenance['reading']) } }
      : {}),
  };
}

/** The JSON line of `--version`. */
export function versionLine(program: ProgramVersion): string {
  return JSON.stringify({ version: program.version, binary_name: program.binaryName });
}

/** Reads what `--version` printed; undefined when it is not a program of ours. */
export function parseVersionLine(output: string): ProgramVersion | undefined {
  const json = parseObject(output);
  const version = json?.['version'];
  const binaryName = json?.['binary_name'];
  return isText(version) && isText(binaryName) ? { version, binaryName } : undefined;
}

/**
 * Reads the credentials file of a machine:
 * `{"cloud": {"app_address", "id", "secret" | "api_key": {"id", "key"}, "certificate_authority"?: PEM}}`. Comments are allowed.
 */
export function parseCredentials(text: string): Parsed<MachineCredentials> {
  const remedy = 'copy the credentials of this machine from the management app (or `platform machine credentials`)';
  const bad = (problem: string): Parsed<MachineCredentials> => ({ ok: false, problem, remedy });
  const json = objectOf(parsed(() => parseJsonText(text)));
  if (json === undefined) return bad('it is not a JSON object');
  const cloud = objectOf(json['cloud']);
  if (cloud === undefined) return bad('it has no object "cloud"');
  const appAddress = httpUrl(cloud['app_address']);
  if (appAddress === undefined) {
    return bad('"cloud.app_address" must be the http(s) address of the management server');
  }
  const partId = cloud['id'];
  if (!isText(partId)) return bad('"cloud.id" must be the ID of the machine part');
  const authority = cloud['certificate_authority'];
  if (authority !== undefined && !(isText(authority) && authority.includes('-----BEGIN CERTIFICATE-----'))) {
    return bad('"cloud.certificate_authority" must be a certificate in PEM form');
  }
  const server = { appAddress, partId, ...(authority !== undefined && { authority }) };
  const key = objectOf(cloud['api_key']);
  if (key && isText(key['id']) && isText(key['key'])) {
    return { ok: true, value: { ...server, entity: key['id'], type: 'api-key', payload: key['key'] } };
  }
  if (isText(cloud['secret'])) {
    return { ok: true, value: { ...server, entity: partId, type: 'robot-secret', payload: cloud['secret'] } };
  }
  return bad('it needs "cloud.secret" or both "cloud.api_key.id" and "cloud.api_key.key"');
}

function parsed(parse: () => unknown): unknown {
  try {
    return parse();
  } catch {
    return undefined;
  }
}

/** The address without a slash at its end; an address of all interfaces becomes the loopback one. */
function httpUrl(value: unknown): string | undefined {
  if (!isText(value) || !URL.canParse(value)) return undefined;
  const url = new URL(value);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return undefined;
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1';
  if (url.hostname === '[::]') url.hostname = '[::1]';
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '');
}

function optional<K extends string, T>(key: K, value: unknown, is: (v: unknown) => v is T): { [P in K]?: T } {
  return (is(value) ? { [key]: value } : {}) as { [P in K]?: T };
}

const textOf = (value: unknown): string => (isText(value) ? value : (JSON.stringify(value) ?? ''));
const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
const isFlag = (value: unknown): value is boolean => typeof value === 'boolean';
const isAmount = (value: unknown): value is number => typeof value === 'number' && value >= 0;
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
