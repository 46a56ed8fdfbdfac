/** error: nothing may be saved. warning: saved, but probably not meant. note: saved, worth knowing. */
export type Severity = 'error' | 'warning' | 'note';

/** Something about a configuration, found at a path such as agent.additional_networks[0].psk. */
export interface Problem {
  readonly path: string;
  readonly message: string;
  readonly remedy: string;
  readonly severity: Severity;
}
