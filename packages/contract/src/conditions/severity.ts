/** error: something fails, or a configuration is not saved. warning: it works, but not as intended. note: for information. */
export type Severity = 'error' | 'warning' | 'note';

/** A greater number is more severe. The numbers are those of the severities on the wire, and in the database. */
export const severityRank = { note: 1, warning: 2, error: 3 } as const satisfies Record<Severity, number>;

/** The most severe first; of equals, the order stays. */
export const bySeverity = (a: { readonly severity: Severity }, b: { readonly severity: Severity }): number =>
  severityRank[b.severity] - severityRank[a.severity];
