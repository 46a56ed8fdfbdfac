// node e2e/src/write-attacks.ts TAP-RECORD: writes docs/measurements/attack.md after a full `npm run test:attack`.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { attacksOf, attackTable } from './attack-table.ts';
import { commitOf, thisHost, today } from './this-host.ts';
import { checkout } from './up-process.ts';

const attacks = attacksOf(readFileSync(process.argv[2] ?? '', 'utf8'));
const table = attackTable(attacks, { day: today(), commit: commitOf(checkout), machine: thisHost() });
writeFileSync(path.join(checkout, 'docs/measurements/attack.md'), table);
