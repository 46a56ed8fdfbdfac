/** What happens when an entry is chosen. */
export type EntryAction =
  | { readonly is: 'open'; readonly path: string }
  /** The query becomes this: what it is about follows. */
  | { readonly is: 'write'; readonly text: string }
  | { readonly is: 'restart'; readonly machine: PaletteMachine };

export interface PaletteMachine {
  readonly id: string;
  readonly partId: string;
  readonly name: string;
}

export interface PaletteEntry {
  /** Unique among all entries. */
  readonly key: string;
  readonly group: string;
  readonly text: string;
  readonly detail?: string;
  /** Other words for it. */
  readonly words?: readonly string[];
  readonly action: EntryAction;
}

const open = (group: string, text: string, path: string, words: readonly string[] = []): PaletteEntry => ({
  key: `${group} ${path}`,
  group,
  text,
  words,
  action: { is: 'open', path },
});
const write = (text: string, verb: Verb): PaletteEntry => ({
  key: `write ${verb}`,
  group: 'Actions',
  text,
  words: [verb],
  action: { is: 'write', text: `${verb} ` },
});

/** Verbs that are followed by a machine or a dataset. */
const verbs = ['restart', 'logs', 'configure', 'upload', 'label', 'train'] as const;
export type Verb = (typeof verbs)[number];

export const pageEntries: readonly PaletteEntry[] = [
  open('Pages', 'Overview', '/', ['home', 'attention']),
  open('Pages', 'Machines', '/machines', ['fleet', 'devices']),
  open('Pages', 'Conditions', '/conditions', ['problems', 'errors', 'muted']),
  open('Pages', 'Fragments', '/fragments', ['configuration']),
  open('Pages', 'Training', '/training', ['jobs']),
  open('Pages', 'Runners', '/runners', ['hosts', 'GPU']),
  open('Pages', 'Datasets', '/datasets', ['images']),
  open('Pages', 'Models', '/models', ['registry']),
  open('Pages', 'Training scripts', '/scripts', ['registry']),
  open('Pages', 'Settings', '/settings', ['usage', 'organization']),
  open('Pages', 'API keys', '/settings/keys', ['access', 'rights']),
  open('Pages', 'Server', '/settings/server', ['health', 'backup', 'disk', 'certificate']),
  open('Pages', 'Releases', '/settings/releases', ['versions', 'channels']),
];

export const actionEntries: readonly PaletteEntry[] = [
  open('Actions', 'Add a machine', '/machines/add', ['new', 'install', 'create']),
  open('Actions', 'Set up a device', '/machines/set-up', ['phone', 'WiFi']),
  open('Actions', 'Train a model', '/training/new', ['start', 'new job']),
  write('Add images …', 'upload'),
  write('Label images …', 'label'),
  write('Train on a dataset …', 'train'),
  write('Restart a machine server …', 'restart'),
  write('Logs of a machine …', 'logs'),
  write('Configure a machine …', 'configure'),
];

/** "restart barn": the verb, and what it is about. */
export function readPaletteQuery(text: string): { verb: Verb | undefined; words: string } {
  const [, first = '', rest = ''] = /^\s*(\w+)\s(.*)$/s.exec(text) ?? [];
  const verb = verbs.find((one) => one === first.toLowerCase());
  return verb ? { verb, words: rest.trim() } : { verb: undefined, words: text.trim() };
}

const machineTexts: Partial<Record<Verb, string>> = {
  restart: 'Restart the machine server of',
  logs: 'Logs of',
  configure: 'Configure',
};
const datasetTexts: Partial<Record<Verb, [text: string, pathOf: (id: string) => string]>> = {
  upload: ['Add images to', (id) => `/datasets/${id}?add=true`],
  label: ['Label', (id) => `/datasets/${id}/label`],
  train: ['Train a model on', (id) => `/training/new?dataset=${id}`],
};

export const wantsMachines = (verb: Verb | undefined): boolean =>
  verb === undefined || machineTexts[verb] !== undefined;

export function machineEntry(machine: PaletteMachine, detail: string, verb: Verb | undefined): PaletteEntry {
  const tab = verb === 'logs' || verb === 'configure' ? `/${verb}` : '';
  return {
    key: `machine ${verb ?? ''} ${machine.id}`,
    group: 'Machines',
    text: [verb && machineTexts[verb], machine.name].filter(Boolean).join(' '),
    detail,
    action: verb === 'restart' ? { is: 'restart', machine } : { is: 'open', path: `/machines/${machine.id}${tab}` },
  };
}

export function datasetEntry({ id, name }: { id: string; name: string }, verb: Verb | undefined): PaletteEntry {
  const [text, pathOf] = (verb && datasetTexts[verb]) ?? ['', (of: string) => `/datasets/${of}`];
  return {
    key: `dataset ${verb ?? ''} ${id}`,
    group: 'Datasets',
    text: [text, name].filter(Boolean).join(' '),
    words: [name],
    action: { is: 'open', path: pathOf(id) },
  };
}

/** The best entries of each group, in the order of their groups. */
export function bestEntries(
  entries: readonly PaletteEntry[],
  words: string,
  { score, most }: { score: (text: string, words: string, more: string[]) => number; most: number },
): PaletteEntry[] {
  if (words === '')
    return [...Map.groupBy(entries, ({ group }) => group).values()].flatMap((all) => all.slice(0, most));
  const scored = entries
    .map((entry) => ({ entry, points: score(entry.text, words, [...(entry.words ?? [])]) }))
    .filter(({ points }) => points > 0)
    .toSorted((one, other) => other.points - one.points);
  return [...Map.groupBy(scored, ({ entry }) => entry.group).values()].flatMap((all) =>
    all.slice(0, most).map(({ entry }) => entry),
  );
}
