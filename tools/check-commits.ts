// npm run check:commits BASE checks the commits after BASE: each subject is `area: imperative verb …`, each has a body.
// As a hook: see CONTRIBUTING.md. It is not part of the test suite, because landed commits cannot be corrected.
import { spawnSync } from 'node:child_process';
import { commitProblems } from './house/commits.ts';

const base = process.argv[2];
if (base === undefined) {
  console.error('usage: npm run check:commits BASE');
  process.exit(2);
}
const log = spawnSync('git', ['log', '-z', '--no-merges', '--format=%h%n%B', `${base}..HEAD`], { encoding: 'utf8' });
if (log.status !== 0) {
  console.error(log.stderr.trim());
  process.exit(2);
}
const commits = log.stdout.split('\0').filter((text) => text.trim() !== '');
const problems = commits.flatMap((text) => {
  const [hash = '', ...message] = text.split('\n');
  return commitProblems(message.join('\n')).map((problem) => `${hash} ${message[0]}\n  ${problem}`);
});
for (const problem of problems) console.error(problem);
console.error(`${commits.length} commits, ${problems.length} problems`);
process.exit(problems.length > 0 ? 1 : 0);
