// node tools/words.ts [FOLDER]: lists the places of words that this project no longer uses, with the standard words.
// node tools/words.ts --update: lowers the counts in tools/house/words.json to the current ones. It never raises one.
import { lowered, readLimits, writeLimits } from './house/limits.ts';
import { countsOf, forbiddenPlaces, standardFor } from './house/words.ts';

const places = forbiddenPlaces();
if (process.argv.includes('--update')) {
  writeLimits('words', lowered(readLimits('words'), countsOf(places), { renames: false }));
} else {
  const under = process.argv[2]?.replace(/\/+$/, '');
  const shown = places.filter(
    ({ folder, file }) => under === undefined || folder === under || file.startsWith(`${under}/`),
  );
  for (const { file, line, word } of shown) console.log(`${file}:${line}: ${word} → ${standardFor(word)}`);
  console.error(`${shown.length} places`);
}
