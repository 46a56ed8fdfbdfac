import type { Severity } from '../conditions/severity.ts';

/** A problem of a configuration at a path such as agent.additional_networks[0].psk; an error prevents saving. */
export interface Problem {
  readonly path: string;
  readonly message: string;
  readonly remedy: string;
  readonly severity: Severity;
}
