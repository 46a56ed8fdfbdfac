import type { AgentStatus } from '@platform/contract/machine/agent-status';
import type { FileSystemFacts } from '../os/ports.ts';
import type { FoundCredentials } from '../install/facts.ts';

/** What the doctor observes, without evaluating it. Undefined: it could not be determined, or does not exist. */
export interface Observations {
  root: string;
  isRoot: boolean;
  credentialsFile: string;
  credentials: FoundCredentials | { at: 'closed' };
  /** Permission bits of the credentials file. */
  credentialsMode: number | undefined;
  systemd: SystemdObservations | undefined;
  gate: { isThere: boolean; isCurrent: boolean; problem: string };
  programs: { name: string; id: string | null; problem: string }[];
  freeBytes: number;
  /** The root's file system; undefined: unknown. */
  fileSystem: FileSystemFacts | undefined;
  spoolBytes: number;
  /** Status of the running agent; undefined: no agent answers. */
  status: AgentStatus | undefined;
  /** An agent runs, but does not answer. */
  isSilent: boolean;
  cloud: CloudObservations | undefined;
  /** Configured proxies that cannot be used, as text for users. */
  unusableProxies: readonly string[];
}

export interface SystemdObservations {
  isUnitThere: boolean;
  activeState: string;
  isEnabled: boolean;
  needsReload: boolean;
  /** How its last run ended: success, exit-code, signal, watchdog … */
  result: string;
  restarts: number;
}

export interface CloudObservations {
  address: string;
  /** Proxies in use, without passwords; empty: none. */
  proxy: string;
  /** The connection or authentication error; undefined: none. */
  problem: { code: string; what: string; remedy: string } | undefined;
  /** Latency of the answer in ms. */
  tookMs: number;
  /** How far this machine's clock is ahead of the server's; undefined: the server sent no date. */
  aheadMs: number | undefined;
}
