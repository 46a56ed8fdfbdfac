/** What started this agent and watches it: systemd, the agent's own supervisor, or none (`noSupervisor`). */
export interface Supervisor {
  /** It kills the agent after this time without `WATCHDOG=1`; undefined: it has no watchdog. */
  readonly watchdogMs: number | undefined;
  /** Lines as in sd_notify(3): `READY=1`, `STATUS=…`, `WATCHDOG=1`, `STOPPING=1`. Never fails and never blocks. */
  notify(state: string): void;
}

export const noSupervisor: Supervisor = { watchdogMs: undefined, notify: () => undefined };
