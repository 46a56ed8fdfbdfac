// What a change of many machines does to each of them: it changes, it is already so, or it cannot and why.
import { PlatformError } from '@platform/contract/errors/errors';
import { changedTags, mostTags } from '@platform/contract/machine/tags';
import { type ProgramName, versionOf } from '@platform/contract/config/version-pin';

export type BulkKind =
  | { readonly is: 'restart' }
  | { readonly is: 'tags'; readonly add: readonly string[]; readonly remove: readonly string[] }
  | { readonly is: 'pin'; readonly program: ProgramName; readonly version: string | undefined }
  | { readonly is: 'move'; readonly locationId: string; readonly namesThere: ReadonlySet<string> }
  | { readonly is: 'delete' };

/** What a outcome depends on. */
export interface BulkCandidate {
  readonly id: string;
  readonly name: string;
  readonly locationId: string;
  readonly tags: readonly string[];
  /** `version_control` of the newest configuration. */
  readonly versions: unknown;
  readonly state: 'online' | 'offline' | 'awaiting' | 'uninstalled';
  readonly mayOperate: boolean;
  readonly owns: boolean;
}

export type BulkOutcome =
  | { readonly is: 'changing'; readonly note?: string }
  | { readonly is: 'unchanged' }
  | { readonly is: 'refused'; readonly code: string; readonly reason: string };

const refused = (error: PlatformError): BulkOutcome => ({ is: 'refused', code: error.code, reason: error.what });
const unchanged: BulkOutcome = { is: 'unchanged' };
const changing: BulkOutcome = { is: 'changing' };

/** The outcomes of machines, in their order. */
export function bulkOutcomes(kind: BulkKind, machines: readonly BulkCandidate[]): BulkOutcome[] {
  const arriving = new Set<string>();
  return machines.map((machine) => {
    const refusal = refusalOf(kind, machine);
    if (refusal) return refusal;
    if (kind.is !== 'move') return outcomeOf(kind, machine);
    if (machine.locationId === kind.locationId) return unchanged;
    const isTaken = kind.namesThere.has(machine.name) || arriving.has(machine.name);
    arriving.add(machine.name);
    if (!isTaken) return changing;
    return refused(new PlatformError('NAME_TAKEN', { name: machine.name, kind: 'machine of this location' }));
  });
}

/** Who may not, before what would happen. */
function refusalOf({ is }: BulkKind, { id, mayOperate, owns }: BulkCandidate): BulkOutcome | undefined {
  if (!mayOperate) return refused(new PlatformError('MACHINE_NOT_FOUND', { machineId: id }));
  const isForOwners = is === 'move' || is === 'delete';
  if (!isForOwners || owns) return undefined;
  return { is: 'refused', code: 'NOT_OWNER', reason: 'Only an owner of the machine may do this.' };
}

function outcomeOf(kind: Exclude<BulkKind, { is: 'move' }>, machine: BulkCandidate): BulkOutcome {
  switch (kind.is) {
    case 'restart':
      return restartOutcome(machine);
    case 'tags':
      return tagOutcome(kind, machine);
    case 'pin':
      return pinOutcome(kind, machine);
    case 'delete':
      return changing;
  }
}

function restartOutcome({ state, name }: BulkCandidate): BulkOutcome {
  if (state === 'awaiting' || state === 'uninstalled') {
    const problem = state === 'awaiting' ? 'no agent has checked in for it yet' : 'its agent was removed';
    return refused(new PlatformError('BULK_MACHINE_REFUSED', { name, problem }));
  }
  return state === 'offline' ? { is: 'changing', note: offlineRestart } : changing;
}

const offlineRestart = 'Offline: they restart if they are back within an hour.';
const offlineChange = 'Offline: they take it when they are back.';

function tagOutcome(
  { add, remove }: { add: readonly string[]; remove: readonly string[] },
  { tags, name }: BulkCandidate,
) {
  const after = changedTags(tags, add, remove);
  if (after.join(' ') === tags.join(' ')) return unchanged;
  if (after.length <= mostTags) return changing;
  const problem = `it would have ${after.length} tags, and the limit is ${mostTags}`;
  return refused(new PlatformError('BULK_MACHINE_REFUSED', { name, problem }));
}

function pinOutcome(
  { program, version }: { program: ProgramName; version: string | undefined },
  { versions, state }: BulkCandidate,
): BulkOutcome {
  if (versionOf({ agent: { version_control: versions } }, program) === (version ?? 'stable')) return unchanged;
  return state === 'online' ? changing : { is: 'changing', note: offlineChange };
}

const mostReasons = 50;

/** Machines by reasons: those of most machines first. */
export function reasonsOf(
  machines: readonly BulkCandidate[],
  outcomes: readonly BulkOutcome[],
  reasonOf: (outcome: BulkOutcome) => { code: string; text: string } | undefined,
) {
  const groups = new Map<string, { code: string; text: string; names: string[] }>();
  for (const [index, outcome] of outcomes.entries()) {
    const found = reasonOf(outcome);
    if (!found) continue;
    // One reason for all machines, though it may name each.
    const name = machines[index]?.name ?? '';
    const text = found.text.replaceAll(name, '…').replaceAll(machines[index]?.id ?? '', '…');
    const group = groups.get(found.code + text) ?? { code: found.code, text: '', names: [] };
    group.names.push(name);
    group.text = group.names.length === 1 ? found.text : text;
    groups.set(found.code + text, group);
  }
  return [...groups.values()]
    .map(({ code, text, names }) => ({ code, text, machines: names.length, examples: names.slice(0, 5) }))
    .toSorted((a, b) => b.machines - a.machines)
    .slice(0, mostReasons);
}
