import assert from 'node:assert/strict';
import { test } from 'node:test';
import serverSchemas from '@platform/contract/gen/server-schemas.json' with { type: 'json' };
import { readConfigText } from '../config-edit.ts';
import { fieldsOf } from './form-rows.ts';
import { drawnSchema } from '../schema/attribute-schemas.ts';
import { chooseModel, usedPackage } from './package-choice.ts';

const schema = drawnSchema(serverSchemas.models.find(({ type }) => type === 'mlmodel')?.attributes);
const fields = fieldsOf([schema], schema).filter(({ packageType }) => packageType !== undefined);
const of = ['services', 0, 'attributes'];
const parts = { modelName: 'parts', packageId: 'org/parts' };
const service = (name: string, folder: string) =>
  `{"name":"${name}","type":"mlmodel","model":"onnx_cpu","attributes":{"model_path":"${folder}/parts.onnx","label_path":"${folder}/labels.txt"}}`;
const entry = (name: string, version: string) =>
  `{"name":"${name}","package":"org/parts","type":"ml_model","version":"${version}"}`;
const configOf = (services: string[], packages: string[]) =>
  `{"services":[${services.join(',')}],"packages":[${packages.join(',')}]}`;
const [files, used] = [service('m', '/opt'), service('m', '${packages.parts}')];
const other = service('n', '${packages.parts}');

const rows: readonly [name: string, before: string, version: string, after: string][] = [
  [
    'the first model brings its package',
    `{"services":[${files}]}`,
    'latest',
    configOf([used], [entry('parts', 'latest')]),
  ],
  [
    'another version changes the entry',
    configOf([used], [entry('parts', '1')]),
    '2',
    configOf([used], [entry('parts', '2')]),
  ],
  [
    'the same again changes nothing',
    configOf([used], [entry('parts', '1')]),
    '1',
    configOf([used], [entry('parts', '1')]),
  ],
  [
    'an entry that another service uses stays, and there is a second one',
    configOf([used, other], [entry('parts', '1')]),
    '2',
    configOf([service('m', '${packages.parts-2}'), other], [entry('parts', '1'), entry('parts-2', '2')]),
  ],
  [
    'an equal entry is used',
    configOf([files], [entry('mine', '3')]),
    '3',
    configOf([service('m', '${packages.mine}')], [entry('mine', '3')]),
  ],
];
for (const [name, before, version, after] of rows) {
  test(`a model from the registry: ${name}`, () => {
    const text = chooseModel(readConfigText(before), { of, fields }, { ...parts, version });
    assert.equal(text, after);
    const found = usedPackage(readConfigText(text ?? ''), of, fields);
    assert.deepEqual([found?.packageId, found?.version], ['org/parts', version]);
  });
}

test('a model from the registry: packages in another form stay', () => {
  const config = readConfigText(`{"services":[${files}],"packages":{}}`);
  assert.equal(chooseModel(config, { of, fields }, { ...parts, version: '1' }), undefined);
});
