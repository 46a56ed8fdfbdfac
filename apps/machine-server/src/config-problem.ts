export interface ConfigProblem {
  /** For example services[0].attributes.camera. */
  readonly path: string;
  readonly problem: string;
  /** The entry may be valid, but this server does not support its type or model. */
  readonly unknown?: 'type' | 'model';
}
