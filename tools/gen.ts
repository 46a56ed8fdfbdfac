// Generates all committed files: protocol classes, JSON Schema, the agent's field table, documentation tables.
// With --check it writes nothing and fails if a file would change.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { agentDocs } from './gen/agent-docs.ts';
import { agentFieldTable } from './gen/agent-fields.ts';
import { apiDocs, descriptors } from './gen/api-docs.ts';
import { conditionDocs } from './gen/condition-docs.ts';
import { configDocs } from './gen/config-docs.ts';
import { configJsonSchema } from './gen/config-json-schema.ts';
import { errorDocs } from './gen/error-docs.ts';
import { filesUnder, protocolClasses } from './gen/protocol-classes.ts';
import { provisioningDocs } from './gen/provisioning-docs.ts';
import { rpcDocs } from './gen/rpc-docs.ts';
import { serverSchemas } from './gen/server-schemas.ts';

const root = path.resolve(import.meta.dirname, '..');
const isCheck = process.argv.includes('--check');
const classes = 'packages/contract/src/gen';

const wanted = new Map<string, string>();
const read = (file: string): string | undefined => {
  try {
    return readFileSync(path.join(root, file), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
};
const write = (file: string, text: string): void => {
  mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
  writeFileSync(path.join(root, file), text);
};
/** @returns the number of changed files. */
const writeChanged = (): number => {
  let written = 0;
  for (const [file, text] of wanted) {
    if (read(file) === text) continue;
    write(file, text);
    written++;
    console.error(`wrote ${file}`);
  }
  return written;
};
for (const [file, text] of protocolClasses(root)) wanted.set(`${classes}/${file}`, text);
// The generators that import the server's code also import these classes.
const writtenClasses = isCheck ? 0 : writeChanged();
wanted.set(`${classes}/config.schema.json`, `${JSON.stringify(configJsonSchema(), null, 2)}\n`);
wanted.set(`${classes}/server-schemas.json`, `${JSON.stringify(serverSchemas(), null, 2)}\n`);
wanted.set(`${classes}/agent-config.gen.ts`, agentFieldTable(configJsonSchema()));
wanted.set('docs/generated/config.md', configDocs(configJsonSchema()));
wanted.set('docs/generated/errors.md', errorDocs());
wanted.set('docs/generated/conditions.md', conditionDocs());
wanted.set('docs/generated/agent.md', agentDocs(root));
wanted.set('docs/generated/provisioning.md', provisioningDocs());
const protos = descriptors(root);
for (const [file, text] of apiDocs(protos)) wanted.set(`docs/generated/api/${file}`, text);
const { routedCalls } = await import('./gen/routed-calls.ts');
wanted.set('docs/generated/rpc.md', rpcDocs(protos, routedCalls()));

const { measuredValuesDocs } = await import('./gen/measured-values.ts');
wanted.set('docs/measured-values.md', measuredValuesDocs());

const stale = filesUnder(path.join(root, classes))
  .map((file) => `${classes}/${file}`)
  .filter((file) => !wanted.has(file));
const changed = [...wanted].filter(([file, text]) => read(file) !== text);

if (isCheck) {
  for (const file of stale) console.error(`${file}: nothing generates this file`);
  for (const [file] of changed) console.error(`${file}: differs from its source`);
  if (stale.length + changed.length > 0) {
    console.error('Run `npm run gen` and commit the result.');
    process.exit(1);
  }
} else {
  for (const file of stale) rmSync(path.join(root, file));
  const written = writtenClasses + writeChanged();
  console.error(`${wanted.size} generated files, ${written} changed, ${stale.length} removed`);
}
