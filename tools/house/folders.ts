import { cyclesIn } from './cycles.ts';
import { importsOf, isCode, unitOf } from './tree.ts';

/** The folder directly below `src/` (below the unit itself for e2e and tools), or a file that lies directly there. */
function roomOf(file: string): string {
  const unit = unitOf(file);
  const base = file.startsWith(`${unit}/src/`) ? `${unit}/src` : unit;
  return `${base}/${file.slice(base.length + 1).split('/')[0] ?? ''}`;
}

/** Import cycles between the folders of each unit; type imports count, too. */
export function folderCircles(files: readonly string[]): Map<string, string[][]> {
  const edges = new Map<string, Map<string, Set<string>>>();
  for (const file of files) {
    const unit = unitOf(file);
    const rooms = edges.get(unit) ?? new Map<string, Set<string>>();
    edges.set(unit, rooms);
    const from = roomOf(file);
    for (const { to } of importsOf(file)) {
      if (!isCode(to) || unitOf(to) !== unit || roomOf(to) === from) continue;
      rooms.set(from, (rooms.get(from) ?? new Set()).add(roomOf(to)));
    }
  }
  return new Map([...edges].map(([unit, rooms]) => [unit, cyclesIn(rooms)]));
}
