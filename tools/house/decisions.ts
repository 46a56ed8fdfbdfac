/** One record of docs/decisions, or its line in the index. */
type Entry = { number: string; title: string; file: string; status: string };

const status = /^(?:in force|(?:superseded|amended) by \d{4}(?:, \d{4})*)$/;
const replaced =
  /^## (?:Question|Rejected|Rejected alternatives|Consequence|Limit)$|^\*\*(?:Context|Decision|Alternatives|Rejected)\b/m;

/** Compares the records with the index; empty if all is well. `files` are names and texts of docs/decisions. */
export function decisionProblems(files: Readonly<Record<string, string>>): string[] {
  const problems: string[] = [];
  const records = new Map<string, Entry>();
  for (const [file, text] of Object.entries(files)) {
    if (file === 'README.md' || file === 'template.md') continue;
    const [, number = '', title = '', state = ''] = /^# (\d{4}): (.+)\n\nStatus: (.+)\n\n/.exec(text) ?? [];
    if (!file.startsWith(`${number}-`) || number === '')
      problems.push(`${file}: does not begin with "# ${file.slice(0, 4)}: title", a blank line and "Status: …"`);
    else if (records.has(number)) problems.push(`${file}: ${records.get(number)?.file} has the same number`);
    else records.set(number, { number, title, file, status: state });
    const heading = replaced.exec(text)?.[0];
    if (heading !== undefined) problems.push(`${file}: "${heading}" is not a heading of the template`);
  }
  const listed = new Set<string>();
  for (const line of files['README.md']?.split('\n').filter((text) => text.startsWith('- ')) ?? []) {
    const [, number = '', title, file, summary = '', state] =
      /^- \[(\d{4}): (.+)\]\((.+?)\): (.+) \(([^()]+)\)$/.exec(line) ?? [];
    const record = records.get(number);
    if (record === undefined) problems.push(`README.md: no record for the line "${line}"`);
    else if (listed.has(number)) problems.push(`README.md: ${number} is listed twice`);
    else if (record.title !== title || record.file !== file || record.status !== state)
      problems.push(`README.md: "${line}" differs from "${record.title}", ${record.file}, "${record.status}"`);
    if (summary.split(' ').length > 15) problems.push(`README.md: the summary of ${number} has more than 15 words`);
    listed.add(number);
  }
  for (const { number, file, status: state } of records.values()) {
    if (!listed.has(number)) problems.push(`README.md: ${file} is missing`);
    if (!status.test(state)) problems.push(`${file}: the status is "in force", or "amended" or "superseded by NNNN"`);
    for (const other of state.match(/\d{4}/g) ?? [])
      if (!records.has(other) || other === number)
        problems.push(`${file}: the status names ${other}, which is no other record`);
  }
  return problems;
}

/** The numbers of the records that a text names: "decision 0012", "decisions 0012 and 0013", or a link. */
export const namedDecisions = (text: string): string[] =>
  [...text.matchAll(/\b[Dd]ecisions? ((?:\d{4}(?:, | and )?)+)|[/(](\d{4})-[a-z][\w-]*\.md/g)].flatMap(
    ([, named = '', linked]) => linked ?? named.match(/\d{4}/g) ?? [],
  );
