import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Counts } from './limits.ts';
import { isGenerated, root, tracked, unitOf } from './tree.ts';

/**
 * Words that this project no longer uses, each with its standard word. They count in names (`pictureFile`,
 * `ToldTwice`), comments, strings and Markdown. The list has each form: `tell apart` and `teller` are allowed.
 */
const forbiddenWords: Readonly<Record<string, string>> = {
  picture: 'image',
  pictures: 'images',
  told: 'reported, returned, logged',
  tells: 'reports, returns, logs',
  said: 'reported, logged',
  wish: 'desired version, desired configuration',
  wishes: 'desired versions',
  wished: 'desired',
  seat: 'slot of a concurrency limiter',
  seats: 'concurrency limiter',
  gathered: 'batched',
  thinned: 'rate-limited, sampled',
  overtime: 'time-limit exceeded',
  workshop: 'workspace, environment',
  workshops: 'workspaces, environments',
  forgive: 'clear, release from quarantine',
  forgiven: 'cleared, released from quarantine',
  trouble: 'condition',
  troubles: 'conditions',
  afterlife: 'previous run, crash report',
  newborn: 'initial',
  nobody: 'no user, no caller, none',
  stranger: 'foreign process, unknown caller',
  strangers: 'foreign processes, unknown callers',
  obstacle: 'conflict, blocker',
  obstacles: 'conflicts, blockers',
  keeper: 'supervisor',
  vitals: 'health',
  pulse: 'heartbeat',
  inlet: 'log reader',
  intake: 'validator, dataset check',
  door: 'endpoint',
  doors: 'endpoints',
  mint: 'create',
  minted: 'created',
  findings: 'check results',
  verdict: 'outcome',
  verdicts: 'outcomes',
  survey: 'scan result',
  sheet: 'dialog',
  veil: 'overlay',
  desk: 'editor, form, input tensors',
  crew: 'test workers',
  pupil: 'model',
  learner: 'trainer',
  lesson: 'training batch',
  lessons: 'training batches',
  eye: 'feature extractor',
  lens: 'feature extractor',
  sight: 'features',
  sights: 'features',
  judge: 'evaluator',
  judged: 'evaluated',
  judges: 'evaluates',
  dropping: 'dropout (network), discarding',
  mentioned: 'above the score threshold',
  storm: 'reconnect storm: thundering herd',
  person: 'user',
  people: 'users',
  somebody: 'a user, another process',
};

/** Forbidden phrases in comments, strings and Markdown. */
const forbiddenPhrases: readonly (readonly [name: string, pattern: RegExp, standard: string])[] = [
  ['is asked', /\b(?:is|are|was|were) asked\b/g, 'receives a request, is called'],
  [
    'is no …',
    /(?<!\b[Tt]here )\b(?:is|are|was|were) no (?!longer\b|more\b|such\b|other\b)\w+/g,
    'is not a …, there is no …: say what it is',
  ],
  ['so many', /\bso many\b/g, 'N, the limit'],
  ['taken back', /\b(?:take|takes|taken|took|taking) (?:it |them |itself )?back\b/g, 'roll back, rolled back'],
  ['proves itself', /\bprove[sd]? (?:itself|themselves)\b/g, 'passes the health check'],
  ['last words', /\blast words?\b/g, 'final status, last log lines'],
  ['Of …', /(?:^|[.:] |\* |\/\/ )Of (?!the form\b)[a-z]/gm, 'begin with the subject'],
];

/**
 * Words that have one meaning, and the names that gave them a second one: a machine is one of a fleet, a release is software,
 * a link leads to the management server, a part is the host of a machine. They count in the files that match.
 */
const takenNames: readonly (readonly [name: string, files: RegExp, pattern: RegExp, standard: string])[] = [
  [
    'machine: states',
    /^(?:packages\/kit|apps\/agent)\/.*\.ts$/,
    /\bMachine<|from '[^']*\/machines\/[^']*'|from '\.\/machine\.ts'/g,
    'StateMachine, state-machines/',
  ],
  [
    'release: networks',
    /^apps\/agent\/.*\.ts$/,
    /\bNetworkRelease\b|\b(?:plan|note)Released?\b|\breleaseNetworks?\b|from '[^']*\/release(?:-networks)?\.ts'/g,
    'NetworkHandOver, hand over to the operating system',
  ],
  [
    'link: pipe',
    /^apps\/agent\/src\/endpoints\/.*\.ts$/,
    /\bAgentLink\b|\bagentLink\b|\blink\.(?:view|submit|tell)\b|from '\.\/link\.ts'/g,
    'AgentPipe, pipe',
  ],
  [
    'part: not a host',
    /^(?:apps|packages)\/[^/]+\/src\/(?!gen\/).*\.tsx?$/,
    /\bexport (?:interface|type) \w*Parts\b|from '[^']*-parts\.ts'/g,
    'Options, Deps, component, section, or a noun of the subject',
  ],
  [
    'part: not a host',
    /^packages\/(?:contract|kit)\/src\/(?!gen\/).*\.ts$/,
    /\bexport (?:async )?(?:function\*?|const|class|interface|type) (?:\w*[a-z])?[pP]art(?:s|(?!Id)[A-Z]\w*)?\b/g,
    'Options, Deps, component, section, or a noun of the subject',
  ],
];

/** Names of stored data and of public options, which are exempt. Wire names are read from the protos. */
const storedNames: ReadonlySet<string> = new Set([]);

/** Files that quote old words, and history that is not edited. */
const isExempt = (file: string): boolean =>
  isGenerated(file) ||
  file === 'CHANGELOG.md' ||
  file.startsWith('docs/decisions/') ||
  /^tools\/(house\/words|words\.test)/.test(file);

const isRead = (file: string): boolean => /\.(tsx?|mjs|md|proto|py)$/.test(file) && !isExempt(file);

/** `docs` and `changes` count separately; files in the root belong to `.`. */
function folderOf(file: string): string {
  if (!file.includes('/')) return '.';
  if (/^(changes|docs)\//.test(file)) return /^(changes|docs)/.exec(file)![0];
  return unitOf(file);
}

/** Every name in the protos, also in its TypeScript spelling. */
function namesOfTheWire(): Set<string> {
  const names = new Set<string>(storedNames);
  for (const file of tracked.filter((one) => one.endsWith('.proto'))) {
    const text = readFileSync(path.join(root, file), 'utf8').replaceAll(/\/\/.*$/gm, '');
    for (const [name] of text.matchAll(/\w+/g)) {
      const camel = name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
      names
        .add(name)
        .add(camel)
        .add(camel.charAt(0).toLowerCase() + camel.slice(1));
    }
  }
  for (const common of Object.keys(forbiddenWords)) names.delete(common);
  return names;
}

export interface Place {
  readonly folder: string;
  readonly file: string;
  readonly line: number;
  readonly word: string;
}

/** The text of a file that counts: Markdown without quoted code, protos without their names, Python without keys of JSON. */
function readable(file: string, text: string): string {
  const blank = (found: string): string => found.replaceAll(/[^\n]/g, ' ');
  if (file.endsWith('.md')) return text.replaceAll(/^```[^]*?^```|`[^`\n]*`|“[^”\n]*”|\]\([^)\n]*\)/gm, blank);
  if (file.endsWith('.proto')) return text.replaceAll(/^(?:(?!\/\/).)*/gm, blank);
  if (file.endsWith('.py')) return text.replaceAll(/"\w+":/g, blank);
  return text;
}

const words = new Set(Object.keys(forbiddenWords));
/** A name, a word or a command-line option. A name with an underscore belongs to the wire, a table or environment. */
const token = /-{0,2}[A-Za-z_$][\w$]*/g;
const mayHold = new RegExp(Object.keys(forbiddenWords).join('|'), 'i');

export function* placesInText(file: string, text: string, wire: ReadonlySet<string>): Generator<Place> {
  const folder = folderOf(file);
  for (const [i, line] of readable(file, text).split('\n').entries()) {
    if (mayHold.test(line)) {
      for (const [name] of line.matchAll(token)) {
        if (!mayHold.test(name) || name.includes('_') || name.startsWith('--') || wire.has(name)) continue;
        for (const [part] of name.matchAll(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g))
          if (words.has(part.toLowerCase())) yield { folder, file, line: i + 1, word: part.toLowerCase() };
      }
    }
    for (const [word, pattern] of forbiddenPhrases)
      for (const _ of line.matchAll(pattern)) yield { folder, file, line: i + 1, word };
    for (const [word, files, pattern] of takenNames)
      if (files.test(file)) for (const _ of line.matchAll(pattern)) yield { folder, file, line: i + 1, word };
  }
}

export function forbiddenPlaces(): Place[] {
  const wire = namesOfTheWire();
  return tracked
    .filter(isRead)
    .flatMap((file) => [...placesInText(file, readFileSync(path.join(root, file), 'utf8'), wire)]);
}

export function countsOf(places: readonly Place[]): Counts {
  const counts: Record<string, Record<string, number>> = {};
  for (const { folder, word } of places) {
    const found = (counts[folder] ??= {});
    found[word] = (found[word] ?? 0) + 1;
  }
  return counts;
}

export const standardFor = (word: string): string =>
  forbiddenWords[word] ??
  forbiddenPhrases.find(([name]) => name === word)?.[2] ??
  takenNames.find(([name]) => name === word)?.[3] ??
  '';
