/** Strongly connected components with at least two nodes (Tarjan), each sorted. Decision 0155. */
export function cyclesIn(edges: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const index = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const found: string[][] = [];
  const low = (node: string): number => lowest.get(node) ?? 0;
  const visit = (node: string): void => {
    index.set(node, index.size);
    lowest.set(node, index.size - 1);
    stack.push(node);
    for (const next of edges.get(node) ?? []) {
      if (!index.has(next)) visit(next);
      if (stack.includes(next)) lowest.set(node, Math.min(low(node), low(next)));
    }
    if (low(node) !== index.get(node)) return;
    const group = stack.splice(stack.indexOf(node));
    if (group.length > 1) found.push(group.toSorted());
  };
  for (const node of edges.keys()) if (!index.has(node)) visit(node);
  return found;
}
