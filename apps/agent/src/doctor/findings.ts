import type { AgentStatus } from '@platform/contract/agent-status';
import type { FoundCredentials } from '../install/facts.ts';

/** What the doctor looks at, without an opinion. Undefined: it could not be found out, or there is no such thing. */
export interface Findings {
  root: string;
  isRoot: boolean;
  credentialsFile: string;
  credentials: FoundCredentials | { at: 'closed' };
  /** Permission bits of the credentials file. */
  credentialsMode: number | undefined;
  systemd: SystemdFindings | undefined;
  gate: { isThere: boolean; isCurrent: boolean; problem: string };
  programs: { name: string; id: string | null; problem: string }[];
  freeBytes: number;
  spoolBytes: number;
  /** Of the running agent; undefined: none answers. */
  status: AgentStatus | undefined;
  /** An agent is there and gives no answer. */
  isSilent: boolean;
  cloud: CloudFindings | undefined;
  /** Proxies that somebody wants and that are not used, for people. */
  unusableProxies: readonly string[];
}

export interface SystemdFindings {
  isUnitThere: boolean;
  activeState: string;
  isEnabled: boolean;
  needsReload: boolean;
  /** How it ended last: success, exit-code, signal, watchdog … */
  result: string;
  restarts: number;
}

export interface CloudFindings {
  address: string;
  /** Proxies in use, without passwords; empty: none. */
  proxy: string;
  /** What is wrong with the way there or with the credentials; undefined: nothing. */
  problem: { code: string; what: string; remedy: string } | undefined;
  /** Ms until the answer. */
  tookMs: number;
  /** What this machine's clock is ahead of the server's; undefined: the server did not say. */
  aheadMs: number | undefined;
}
