/** Who started this agent and watches over it: systemd, or nobody. */
export interface Supervisor {
  /** It ends the agent when it did not hear `WATCHDOG=1` for this long; undefined: it does not watch. */
  readonly watchdogMs: number | undefined;
  /** Lines as in sd_notify(3): `READY=1`, `STATUS=…`, `WATCHDOG=1`, `STOPPING=1`. Never fails, never waits. */
  tell(state: string): void;
}

export const nobody: Supervisor = { watchdogMs: undefined, tell: () => undefined };
