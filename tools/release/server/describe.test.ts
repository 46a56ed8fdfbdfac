import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { Spec, Validation } from '@cyclonedx/cyclonedx-library';
import { describeServer, serverComponents } from './describe.ts';
import { packagesOf } from './stage.ts';

const root = path.resolve(import.meta.dirname, '../../..');
const platform = `linux-${process.arch}` as 'linux-x64' | 'linux-arm64';

test('the SBOM of the archive names each of its packages, Node, the database and the weights, all with allowed licenses', async () => {
  const keys = packagesOf(platform).packages.map(([key]) => key);
  const components = serverComponents(root, keys, path.join(root, 'tools/node/node_modules', `node-${platform}`));
  const { sbom, licenses } = describeServer({ version: '1.2.3', platform }, components);
  assert.equal(await new Validation.JsonStrictValidator(Spec.Spec1dot6.version).validate(sbom), null);
  const { components: listed } = JSON.parse(sbom) as { components: { name: string; group?: string }[] };
  const names = new Set(listed.map(({ name, group }) => (group === undefined ? name : `${group}/${name}`)));
  for (const key of keys) {
    const name = key.slice(key.lastIndexOf('node_modules/') + 'node_modules/'.length);
    assert.ok(names.has(name), name);
    assert.ok(licenses.includes(`\n${name} `), name);
  }
  for (const name of ['node', 'efficientnet-lite0', 'efficientnet-lite2']) assert.ok(names.has(name), name);
  for (const part of ['postgresql', 'openssl', 'eigen', 'XNNPACK']) assert.match(licenses, new RegExp(`\\n${part}: `));
  assert.throws(
    () => describeServer({ version: '1.2.3', platform }, [{ ...components[0]!, license: 'SSPL-1.0' }]),
    /not in the allow list/,
  );
});
