import { readFileSync } from 'node:fs';
import path from 'node:path';
import Ajv2020, { type ValidateFunction } from 'ajv/dist/2020.js';

/** What a program of anybody else finds by the published JSON Schema of a configuration. */
export function schemaCheck(): ValidateFunction {
  const file = path.resolve(import.meta.dirname, '../src/gen/config.schema.json');
  const schema: Record<string, unknown> = JSON.parse(readFileSync(file, 'utf8'));
  return new Ajv2020.default({ strict: false }).compile(schema);
}
