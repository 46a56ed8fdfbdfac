/** The two programs of a machine, as an operator names them. */
export const programNames = ['agent', 'server'] as const;
export type ProgramName = (typeof programNames)[number];

export interface Done {
  /** False: it was so already. */
  isChanged: boolean;
  /** One sentence for people. */
  did: string;
}

/**
 * What a person at the machine may ask for. Each resolves when it is decided and written down; what follows from it
 * (a download, a restart) goes on by itself. @throws PlatformError when it cannot be done
 */
export interface Operator {
  /** Asks the management server now what is wanted, and tries again what failed. */
  checkNow(): Promise<Done>;
  /** Back to the previous version, without a download; the present one is not tried again by itself. */
  rollback(program: ProgramName): Promise<Done>;
  /** Keeps to an installed version whatever the management server wants; null: no longer. */
  pin(program: ProgramName, wish: string | null): Promise<Done>;
  /** Lets quarantined versions be tried again. */
  clearQuarantine(program: ProgramName): Promise<Done>;
}
