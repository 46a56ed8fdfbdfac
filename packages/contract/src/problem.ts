/** error: prevents saving. warning: saved, but probably unintended. note: saved, for information. */
export type Severity = 'error' | 'warning' | 'note';

/** A problem of a configuration at a path such as agent.additional_networks[0].psk. */
export interface Problem {
  readonly path: string;
  readonly message: string;
  readonly remedy: string;
  readonly severity: Severity;
}
