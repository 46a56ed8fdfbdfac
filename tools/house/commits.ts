import { spawnSync } from 'node:child_process';
import { plainEnvironment } from '../../packages/kit/src/node/environment.ts';

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

/** Runs Git in `folder`; null if Git fails. */
function git(folder: string, ...args: string[]): string | null {
  const { status, stdout } = spawnSync('git', args, { cwd: folder, env: plainEnvironment(), encoding: 'utf8' });
  return status === 0 ? stdout.trim() : null;
}

/** Whether the history of HEAD in `folder` is cut off, as `git clone --depth` does. */
function isCutOff(folder: string): boolean {
  if (git(folder, 'rev-parse', '--is-shallow-repository') !== 'true') return false;
  // Git lists a commit whose parents it does not have as one without parents, but the commit itself still names them.
  const first = git(folder, 'rev-list', '--max-parents=0', 'HEAD')?.split('\n') ?? [];
  return first.some(
    (hash) => git(folder, 'cat-file', 'commit', hash)?.split('\n\n')[0]?.includes('\nparent ') ?? false,
  );
}

/** Checks the messages of the commits after `base` in the repository `folder`, without merges. */
export function checkHistory(folder: string, base: string): { lines: string[]; exitCode: number } {
  if (git(folder, 'merge-base', '--is-ancestor', base, 'HEAD') === null)
    return isCutOff(folder)
      ? { lines: [`commit messages are not checked: this shallow clone does not reach ${base}`], exitCode: 0 }
      : {
          lines: [`${base} is not in the history of HEAD. Name a commit of this history in tools/house/commits-from.`],
          exitCode: 2,
        };
  const log = git(folder, 'log', '-z', '--no-merges', '--format=%h%n%B', `${base}..HEAD`) ?? '';
  const commits = log.split('\0').filter((text) => text.trim() !== '');
  const problems = commits.flatMap((text) => {
    const [hash = '', ...message] = text.split('\n');
    return commitProblems(message.join('\n')).map((problem) => `${hash} ${message[0]}\n  ${problem}`);
  });
  const summary = `${commits.length} commits after ${base.slice(0, 12)}, ${problems.length} problems`;
  return { lines: [...problems, summary], exitCode: problems.length > 0 ? 1 : 0 };
}
