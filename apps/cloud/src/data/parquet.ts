import { ByteWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer';

/** Type of a column. A time is in µs since 1970, UTC. */
export type ColumnKind = 'text' | 'time' | 'count';

const elements: Readonly<Record<ColumnKind, Pick<SchemaElement, 'type' | 'converted_type'>>> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  time: { type: 'INT64', converted_type: 'TIMESTAMP_MICROS' },
  count: { type: 'INT64' },
};

/**
 * Yields a Parquet file by row group: only one row group and the positions of all groups are in memory.
 *
 * @param columns - kinds by name, in column order.
 * @param groups - rows; each group becomes a row group. A missing column is null.
 */
export async function* parquetBytes<K extends string>(
  columns: Readonly<Record<K, ColumnKind>>,
  groups: AsyncIterable<readonly Readonly<Record<K, string | number | null>>[]>,
): AsyncGenerator<Uint8Array> {
  const named = Object.entries(columns) as [K, ColumnKind][];
  const writer = new ByteWriter();
  const file = new ParquetWriter({
    writer,
    createdBy: 'platform',
    // Statistics would stay in memory until the end.
    statistics: false,
    schema: [
      { name: 'root', num_children: named.length },
      ...named.map(([name, kind]) => ({ name, repetition_type: 'OPTIONAL' as const, ...elements[kind] })),
    ],
  });
  const written = (): Uint8Array => {
    const bytes = writer.getBytes().slice();
    writer.index = 0;
    return bytes;
  };
  for await (const rows of groups) {
    if (rows.length === 0) continue;
    const columnData = named.map(([name, kind]) => ({
      name,
      offsetIndex: false,
      data: rows.map((row) => stored(kind, row[name])),
    }));
    await file.write({ columnData, rowGroupSize: rows.length });
    yield written();
  }
  await file.finish();
  yield written();
}

const stored = (kind: ColumnKind, value: string | number | null): string | bigint | null =>
  value === null ? null : kind === 'text' ? String(value) : BigInt(value);
