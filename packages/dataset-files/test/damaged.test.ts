// Damaged folders: whatever a file contains, the import answers and accounts for all of it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { importFormats } from '../src/formats.ts';
import { planImport } from '../src/plan.ts';
import { planLines } from '../src/summary.ts';
import { cases, memorySource } from './case-files.ts';

/** Characters that formats give a meaning, and numbers that break sums. */
const inserted = fc.constantFrom(
  '"',
  '{',
  ']',
  '<',
  '&',
  '%',
  '\\',
  '\n',
  '\0',
  ',',
  '-',
  'NaN',
  '1e999',
  'null',
  '\ud800',
);

async function damaged(files: ReturnType<typeof memorySource>, at: number, text: string, isCut: boolean) {
  const data = files.files.filter(({ path }) => !/\.(png|jpg)$/.test(path));
  const chosen = data[at % Math.max(1, data.length)]?.path;
  const read = async (path: string): Promise<Uint8Array> => {
    const bytes = await files.read(path);
    if (path !== chosen) return bytes;
    const place = bytes.length === 0 ? 0 : (at * 31) % bytes.length;
    const added = new TextEncoder().encode(text);
    return Uint8Array.from([...bytes.subarray(0, place), ...added, ...(isCut ? [] : bytes.subarray(place))]);
  };
  const sizes = await Promise.all(
    files.files.map(async (file) => ({ ...file, sizeBytes: (await read(file.path)).length })),
  );
  return { files: sizes, read, readStart: async (path: string, n: number) => (await read(path)).subarray(0, n) };
}

test('each file has one entry, each annotation one outcome, however the files are damaged', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...cases),
      fc.nat(10_000),
      inserted,
      fc.boolean(),
      fc.constantFrom(...importFormats),
      async ({ files }, at, text, isCut, format) => {
        const source = await damaged(memorySource(files), at, text, isCut);
        const plan = await planImport(source, { format });
        const { counts, files: entries } = plan.ledger;
        assert.equal(counts.seen, counts.used + counts.leftOut + counts.invalid);
        assert.deepEqual(
          entries.map((entry) => entry.path),
          Object.keys(files).toSorted(),
        );
        for (const { boxes } of plan.images)
          for (const { xMin, yMin, xMax, yMax } of boxes)
            assert.ok(xMin >= 0 && yMin >= 0 && xMax <= 1 && yMax <= 1 && xMin < xMax && yMin < yMax);
        assert.ok(planLines(plan).length > 0);
      },
    ),
    { numRuns: 1500 },
  );
});
