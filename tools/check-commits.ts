// npm run check:commits [BASE] checks the commits after BASE, by default after the commit in tools/house/commits-from: each
// subject is `area: imperative verb …`, each has a body. Merges are not checked. As a hook: see CONTRIBUTING.md.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { checkHistory } from './house/commits.ts';

const from = path.resolve(import.meta.dirname, 'house/commits-from');
const { lines, exitCode } = checkHistory(process.cwd(), process.argv[2] ?? readFileSync(from, 'utf8').trim());
for (const line of lines) console.error(line);
process.exit(exitCode);
