// The parts of a configuration that the schemas of the machine server describe.
import { isObject } from '@platform/contract/text/json-object';
import { modelOfEntry } from './attribute-schemas.ts';
import type { DrawnSchemas } from './attribute-schemas.ts';
import type { JsonPath } from './json-path.ts';
import type { CheckJob } from './schema-checker.ts';

export interface CheckedEntry extends CheckJob {
  /** The place of the value. */
  readonly path: JsonPath;
}

export function checkedEntries(json: unknown, drawn: DrawnSchemas): CheckedEntry[] {
  if (!isObject(json)) return [];
  const listOf = (key: string): [Record<string, unknown>, number][] => {
    const list = json[key];
    return Array.isArray(list) ? list.flatMap((one: unknown, at) => (isObject(one) ? [[one, at]] : [])) : [];
  };
  const entries = ['components', 'services'].flatMap((key) =>
    listOf(key).flatMap(([entry, at]): CheckedEntry[] => {
      const model = modelOfEntry(drawn, key, entry);
      if (model === undefined) return [];
      const { attributes } = entry;
      // The attributes may be left out.
      const value = attributes ?? {};
      const name = `${model.kind} ${model.type} ${model.model}`;
      return [{ key: name, path: [key, at, 'attributes'], schema: model.reported, value }];
    }),
  );
  const { module } = drawn;
  if (module === undefined) return entries;
  return [
    ...entries,
    ...listOf('modules').map(([value, at]): CheckedEntry => {
      return { key: 'module', path: ['modules', at], schema: module.reported, value };
    }),
  ];
}
