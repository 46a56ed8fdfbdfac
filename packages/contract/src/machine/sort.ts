// Orders of the list of machines, for page, command line and call: "name", "-seen".

export const sortKeys = [
  'name',
  'state',
  'condition',
  'location',
  'tag',
  'agent',
  'server',
  'revision',
  'seen',
  'host',
  'platform',
  'os',
  'model',
  'kernel',
  'disk_free',
  'memory',
  'temperature',
] as const;
export type SortKey = (typeof sortKeys)[number];
export interface MachineSort {
  readonly by: SortKey;
  readonly isDescending: boolean;
}

/** The empty text: by name. @returns undefined: there is no such order. */
export function parseSort(text: string): MachineSort | undefined {
  const isDescending = text.startsWith('-');
  const name = isDescending ? text.slice(1) : text || 'name';
  const by = sortKeys.find((key) => key === name);
  return by && { by, isDescending };
}
