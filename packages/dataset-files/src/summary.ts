import type { ImportPlan } from './planned-images.ts';
import type { AnnotationEntry, FileEntry, Ledger } from './ledger.ts';

/** Entries of the ledger that have the same outcome and reason. */
export interface LedgerGroup {
  readonly outcome: 'left out' | 'invalid' | 'changed' | 'not data';
  readonly kind: 'file' | 'annotation' | 'image';
  readonly reason: string;
  readonly count: number;
  /** The first ones: paths, or places in a file. */
  readonly examples: readonly string[];
}

const mostExamples = 3;
/** Reasons may name an id: a file may have thousands. */
const mostReasons = 20;

/** The ledger by outcome and reason, losses first: at most 20 reasons of each outcome, the rest in one group. */
export function ledgerGroups({ files, annotations, missing }: Ledger): LedgerGroup[] {
  const groups = [
    ...groupsOf('annotation', annotations.filter(isOfFile)),
    ...groupsOf(
      'file',
      files.flatMap((entry) => fileOutcome(entry) ?? []),
    ),
  ];
  const lacking: LedgerGroup = {
    outcome: 'left out',
    kind: 'image',
    reason: 'annotated, but not in the folder',
    count: missing.length,
    examples: missing.slice(0, mostExamples),
  };
  const order = ['invalid', 'left out', 'changed', 'not data'];
  return [...(missing.length > 0 ? [lacking] : []), ...groups].toSorted(
    (a, b) => order.indexOf(a.outcome) - order.indexOf(b.outcome),
  );
}

const isOfFile = ({ reason }: AnnotationEntry): boolean => reason !== 'the image is not in the folder';

type Outcome = Pick<AnnotationEntry, 'file' | 'where' | 'reason'> & { readonly outcome: LedgerGroup['outcome'] };

function fileOutcome({ path, use, reason }: FileEntry): Outcome | undefined {
  if (use === 'left out' || use === 'not data') return { file: path, where: '', outcome: use, reason: reason ?? '' };
  return use === 'image' && reason !== undefined ? { file: path, where: '', outcome: 'changed', reason } : undefined;
}

function groupsOf(kind: LedgerGroup['kind'], entries: readonly Outcome[]): LedgerGroup[] {
  const byOutcome = Map.groupBy(entries, ({ outcome }) => outcome);
  return [...byOutcome.values()].flatMap((same) => {
    const reasons = [...Map.groupBy(same, ({ reason }) => reason)];
    const rest = reasons.slice(mostReasons).flatMap(([, found]) => found);
    return [
      ...reasons.slice(0, mostReasons).flatMap(([reason, found]) => groupOf(kind, reason, found)),
      ...groupOf(kind, `${reasons.length - mostReasons} other reasons`, rest),
    ];
  });
}

function groupOf(kind: LedgerGroup['kind'], reason: string, entries: readonly Outcome[]): LedgerGroup[] {
  const [first] = entries;
  if (!first) return [];
  const examples = entries.slice(0, mostExamples).map(({ file, where }) => (where === '' ? file : `${file}: ${where}`));
  return [{ outcome: first.outcome, kind, reason, count: entries.length, examples }];
}

const nouns = {
  file: ['file', 'files'],
  annotation: ['annotation', 'annotations'],
  image: ['image', 'images'],
} as const;
const verbs = { invalid: 'Invalid', 'left out': 'Left out', changed: 'Changed', 'not data': 'No data' } as const;

/** `1 annotation, crowd region (a.json: annotation 2)` */
export function reasonOf({ kind, reason, count, examples }: LedgerGroup): string {
  const [one, many] = nouns[kind];
  const more = count > examples.length ? ` and ${count - examples.length} more` : '';
  return `${count} ${count === 1 ? one : many}, ${reason} (${examples.join(', ')}${more})`;
}

const groupLine = (group: LedgerGroup): string => `${verbs[group.outcome]}: ${reasonOf(group)}.`;

/** The plan as text for users: format, counts, the account of the rest. */
export function planLines({ format, images, counts, ledger }: ImportPlan): string[] {
  const labels = [...counts].map(([label, { images: n, boxes }]) =>
    [label, n > 0 ? String(n) : '', boxes > 0 ? `${boxes} ${boxes === 1 ? 'box' : 'boxes'}` : '']
      .filter(Boolean)
      .join(' '),
  );
  const bare = images.filter(({ boxes, labels: own }) => boxes.length === 0 && own.length === 0).length;
  return [
    ...(format === 'folders' ? [] : [`${format}.`]),
    `${images.length} ${images.length === 1 ? 'image' : 'images'}${labels.length > 0 ? `: ${labels.join(', ')}` : ''}.`,
    ...(bare > 0 && counts.size > 0 ? [`${bare} of them without a label.`] : []),
    ...ledgerGroups(ledger).map(groupLine),
    ...ledger.warnings.map((warning) => `Check: ${warning}.`),
  ];
}
