/**
 * The contract between a machine server and its agent: command line, environment, readiness line, restart status and
 * exit codes. The agent supervises a custom build that implements this file like `platform-server` itself.
 * docs/machine-server.md describes it in prose. Reading and writing it needs no library.
 */
import { parseJsonText } from '../text/json-text.ts';
import { objectOf, parseJson, parseObject } from '../text/json-object.ts';

/** Environment variables that the agent sets for the server. */
export const machineEnvironment = {
  /** `true`: the agent polls the cloud for restart requests; the server must not. */
  agentHandlesNeedsRestart: 'PLATFORM_AGENT_HANDLES_NEEDS_RESTART_CHECKING',
  /** `true`: log at debug level. */
  debug: 'PLATFORM_SERVER_DEBUG',
  /** ms since 1970, certainly in the past: compare a certificate's expiry with it while the clock may be wrong. */
  timeFloor: 'PLATFORM_TIME_FLOOR',
  /** PEM file with the CA of the management server, in addition to the system's CAs. Unset: none. */
  certificateAuthority: 'PLATFORM_CERTIFICATE_AUTHORITY',
  /** Path of the agent's socket for log lines (log-socket.ts); absent: send them with RobotService.Log. */
  logSocket: 'PLATFORM_AGENT_LOG_SOCKET',
} as const;

/** Name of the program, of its release and of its file. */
export const serverName = 'platform-server';

/** Exit codes of a machine server; the agent restarts it after any of them, with backoff. */
export const machineExit = {
  /** Stopped by SIGTERM, SIGINT or SIGQUIT. */
  stopped: 0,
  /** Invalid command line. */
  usage: 2,
  /** An unexpected failure; the last line on stderr describes it. */
  failed: 70,
  /** The data folder is not writable. */
  noDataFolder: 73,
  /** Another server uses the data folder. */
  dataFolderInUse: 75,
  /** The credentials file is missing or malformed. */
  badCredentials: 78,
} as const;

/** Output of `--version`, as one JSON line. */
export interface ProgramVersion {
  readonly version: string;
  readonly binaryName: string;
}

/** A server that is ready. */
export interface Readiness {
  /** Base URL for GET /restart_status, on the loopback interface if the server listens there. */
  readonly url: string;
  /** Version of the program; absent if the server does not report it. */
  readonly version?: string;
  readonly pid?: number;
  /** Revision of the machine's configuration in effect, 0: none yet. */
  readonly revision?: number;
  /** SHA-256 of that configuration as it was saved, hex; absent: not known. */
  readonly configSha256?: string;
}

/** Response of GET /restart_status. */
export interface RestartStatus {
  /** False while the server applies a new configuration, and while the maintenance sensor forbids it. */
  readonly restartAllowed: boolean;
  /** True: the agent must poll the cloud for restart requests. */
  readonly doesNotHandleNeedsRestart: boolean;
  readonly version?: string;
  readonly uptimeSeconds?: number;
  readonly reconfiguring?: boolean;
  /** Revision of the configuration in effect, 0: none yet. */
  readonly revision?: number;
  /**
   * SHA-256 of that configuration as it was saved, hex: RobotConfig.config_sha256. Absent: the server knows the
   * revision only.
   */
  readonly configSha256?: string;
  /** Present if the configuration names a maintenance sensor. */
  readonly maintenance?: MaintenanceReading;
  /** The program's file was replaced since the server started. */
  readonly restartNeeded?: boolean;
  /** Changes with the response of GET /resource_status; absent: the server does not support that call. */
  readonly resourceStatusEtag?: string;
  /** `host:port` of the plain RPC port that some public builds offer for a graceful shutdown. */
  readonly moduleServerTcpAddress?: string;
}

export interface MaintenanceReading {
  readonly allowed: boolean;
  /** The sensor's reading, or why it could not be read; text for users. */
  readonly reading: string;
}

/** Validated content of a machine's credentials file. */
export interface MachineCredentials {
  /** Base URL of the management server, without a trailing slash. */
  readonly appAddress: string;
  readonly partId: string;
  /** Arguments of AuthService.Authenticate. */
  readonly entity: string;
  readonly type: 'robot-secret' | 'api-key';
  readonly payload: string;
  /** PEM CA of the management server, in addition to the system's CAs. */
  readonly authority?: string;
}

/** `value`, or the problem of the input with its remedy. */
export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problem: string; readonly remedy: string };

/** The line that a server prints on stdout when it is ready. */
export function readyLine(ready: Required<Omit<Readiness, 'configSha256'>> & Readiness): string {
  const { version, url, pid, revision, configSha256 } = ready;
  return JSON.stringify({
    platform_server: 'ready',
    version,
    url,
    pid,
    revision,
    ...(configSha256 && { config_sha256: configSha256 }),
  });
}

/** The readiness line for agents of other products, which look for the word and these two members only. */
export const publicReadyLine = (url: string): string => `serving\t${JSON.stringify({ url, alt_url: url })}`;

/**
 * Parses a line of a server's stdout: our readiness line, or the public server's line with the word `serving` and the
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
    ...optional('configSha256', json['config_sha256'], isSha256),
  };
}

function servingLine(line: string): Readiness | undefined {
  if (!/\bserving\b/.test(line)) return undefined;
  // alt_url is the local URL; a server without a cloud name prints only url.
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
    config_sha256: status.configSha256,
    maintenance: status.maintenance,
    restart_needed: status.restartNeeded,
    resource_status_etag: status.resourceStatusEtag,
    module_server_tcp_addr: status.moduleServerTcpAddress,
  };
}

/**
 * Parses a response of GET /restart_status; only `restart_allowed` is required. Undefined if it is not such a response.
 */
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
    ...optional('configSha256', json['config_sha256'], isSha256),
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

/** Parses the output of `--version`; undefined for other programs. */
export function parseVersionLine(output: string): ProgramVersion | undefined {
  const json = parseObject(output);
  const version = json?.['version'];
  const binaryName = json?.['binary_name'];
  return isText(version) && isText(binaryName) ? { version, binaryName } : undefined;
}

/**
 * Parses the credentials file of a machine:
 * `{"cloud": {"app_address", "id", "secret" | "api_key": {"id", "key"}, "certificate_authority"?: PEM}}`. Comments are
 * allowed.
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
  const partId = trimmed(cloud['id']);
  if (!isText(partId)) return bad('"cloud.id" must be the ID of the machine part');
  const authority = cloud['certificate_authority'];
  if (authority !== undefined && !(isText(authority) && authority.includes('-----BEGIN CERTIFICATE-----'))) {
    return bad('"cloud.certificate_authority" must be a certificate in PEM form');
  }
  const server = { appAddress, partId, ...(authority !== undefined && { authority }) };
  const key = objectOf(cloud['api_key']);
  const [keyId, keySecret, secret] = [key?.['id'], key?.['key'], cloud['secret']].map(trimmed);
  if (isText(keyId) && isText(keySecret)) {
    return { ok: true, value: { ...server, entity: keyId, type: 'api-key', payload: keySecret } };
  }
  if (isText(secret)) {
    return { ok: true, value: { ...server, entity: partId, type: 'robot-secret', payload: secret } };
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

/** The URL without a trailing slash; maps the unspecified address to the loopback address. */
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
/** Copied from a terminal or a page, IDs and secrets have blanks and line ends around them. */
const trimmed = (value: unknown): unknown => (typeof value === 'string' ? value.trim() : value);
const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
const isSha256 = (value: unknown): value is string => isText(value) && /^[0-9a-f]{64}$/.test(value);
const isFlag = (value: unknown): value is boolean => typeof value === 'boolean';
const isAmount = (value: unknown): value is number => typeof value === 'number' && value >= 0;
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
