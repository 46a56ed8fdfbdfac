// npm run ratchet: lowers the limits in tools/house/*.json to the current counts. It never raises one.
import { inheritingPlaces } from './house/environment.ts';
import { linesByName, longFunctions } from './house/functions.ts';
import { lenientByUnit } from './house/text-reading.ts';
import { lowered, readLimits, writeLimits } from './house/limits.ts';
import { countsOf, forbiddenPlaces } from './house/words.ts';
import { code } from './house/tree.ts';

const found = {
  'long-functions': linesByName(longFunctions()),
  'text-reading': lenientByUnit(),
  environment: inheritingPlaces(code),
  words: countsOf(forbiddenPlaces()),
};
for (const [name, counts] of Object.entries(found)) {
  const before = readLimits(name);
  const after = lowered(before, counts, { renames: name !== 'words' });
  writeLimits(name, after);
  const total = (limits: typeof before): number => Object.values(limits).flatMap((names) => Object.keys(names)).length;
  console.error(`tools/house/${name}.json: ${total(before)} → ${total(after)} entries`);
}
