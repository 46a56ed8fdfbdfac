/** Tables of datasets, training and registry. */
export type TrainingTables = Record<never, never>;
