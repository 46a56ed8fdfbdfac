// Which machines of the list are selected: some by their IDs, or all that match, also those that are not loaded.

export type MachineSelection = { readonly is: 'some'; readonly ids: ReadonlySet<string> } | { readonly is: 'all' };

export const nothingSelected: MachineSelection = { is: 'some', ids: new Set() };

export const isSelected = (selection: MachineSelection, id: string): boolean =>
  selection.is === 'all' || selection.ids.has(id);

export const selectedCount = (selection: MachineSelection, matching: number): number =>
  selection.is === 'all' ? matching : selection.ids.size;

/** Selects these, or takes them out. A selection of all that match ends as soon as one is taken out. */
export function withMachines(selection: MachineSelection, ids: readonly string[], isOn: boolean): MachineSelection {
  if (selection.is === 'all') return isOn ? selection : nothingSelected;
  const next = new Set(selection.ids);
  for (const id of ids)
    if (isOn) next.add(id);
    else next.delete(id);
  return { is: 'some', ids: next };
}
