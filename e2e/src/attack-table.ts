// The table of docs/measurements/attack.md, from the record of a full `npm run test:attack`. Pure.

export interface Attack {
  name: string;
  isOk: boolean;
  seconds: number;
  /** Number of its subtests, each a kind of attack. */
  kinds: number;
  /** What it reports: seeds, numbers of requests and answers. */
  notes: readonly string[];
}

const unescaped = (text: string): string => text.replaceAll(/\\(.)/g, '$1');

/** Reads the attacks from the TAP record of Node's test runner. */
export function attacksOf(tap: string): Attack[] {
  const attacks: Attack[] = [];
  let kinds = 0;
  let notes: string[] | undefined;
  for (const line of tap.split('\n')) {
    const [, outcome, name] = /^(ok|not ok) \d+ - (.*)$/.exec(line) ?? [];
    const [, note] = /^# (.*)$/.exec(line) ?? [];
    if (/^ {4}(ok|not ok) /.test(line)) kinds++;
    else if (name !== undefined) {
      notes = [];
      attacks.push({ name: unescaped(name), isOk: outcome === 'ok', seconds: 0, kinds, notes });
      kinds = 0;
    } else if (/^1\.\.\d+$/.test(line) || note?.startsWith('Subtest: ') === true) notes = undefined;
    else if (note !== undefined) notes?.push(unescaped(note));
    const last = attacks.at(-1);
    const [, ms] = /^ {2}duration_ms: ([\d.]+)$/.exec(line) ?? [];
    if (last && ms !== undefined && notes !== undefined) last.seconds = Number(ms) / 1000;
  }
  return attacks;
}

export interface Run {
  /** As 2030-01-31. */
  day: string;
  commit: string;
  machine: string;
}

const cell = (text: string): string => text.replaceAll('|', '\\|');

const row = ({ name, isOk, seconds, kinds, notes }: Attack): string =>
  `| ${cell(name)} | ${isOk ? 'withstood' : '**failed**'} | ${kinds === 0 ? '' : kinds} | ${Math.round(seconds)} | ${notes.map(cell).join('<br>')} |`;

export const attackTable = (attacks: readonly Attack[], { day, commit, machine }: Run): string =>
  `# Attacks

Written by \`npm run test:attack\` without a file and without \`PLATFORM_ATTACK=short\`: all rounds of each attack, on loopback. The last run: ${day}, commit ${commit}, ${machine}.

| attack | result | kinds | seconds | tried |
|---|---|---|---|---|
${attacks.map(row).join('\n')}
`;
