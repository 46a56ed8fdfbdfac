const forms =
  /^(?:adds|added|adding|fixes|fixed|fixing|changes|changed|makes|made|uses|used|moves|moved|removes|removed|updates|updated|says|said|tells|told|the|a|an|no|words|tidy)$/i;

/** Lists the problems of a commit message; empty if it is valid. */
export function commitProblems(message: string): string[] {
  const [subject = '', ...rest] = message.trimEnd().split('\n');
  const [, areas, text = ''] = /^([a-z][a-z0-9.-]*(?:(?:, |\/)[a-z][a-z0-9.-]*)*): (.+)$/.exec(subject) ?? [];
  if (areas === undefined) return ['the subject is not `area: imperative verb …`, lower case'];
  const problems: string[] = [];
  const first = /^[^\s:,]+/.exec(text)?.[0] ?? '';
  if (!/^[a-z]/.test(first)) problems.push(`"${first}" does not begin with a lower-case letter`);
  if (forms.test(first)) problems.push(`"${first}" is not an imperative verb: add, mend, move, report …`);
  if (subject.length > 100) problems.push(`the subject has ${subject.length} characters; the limit is 100`);
  if (subject.endsWith('.')) problems.push('the subject ends with a full stop');
  if (rest.length > 0 && rest[0] !== '') problems.push('a blank line between subject and body is missing');
  if (rest.join('').trim() === '') problems.push('the body is missing: say why');
  return problems;
}
