// References inside a configuration, unknown types, duplicate keys: found before anything is saved.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkConfig } from '@platform/contract/config/config';
import { duplicateKeys } from '@platform/contract/config/duplicates';
import { referenceProblems } from '@platform/contract/config/references';
import { platformServerKnowledge } from '@platform/contract/machine-server/resources';

const camera = { name: 'yard', type: 'camera', model: 'folder', attributes: { path: '/images' } };
const model = {
  name: 'objects',
  type: 'mlmodel',
  model: 'onnx_cpu',
  attributes: { model_path: '${packages.objects}/o.onnx', label_path: '${packages.ml_model.objects}/labels.txt' },
};
const item = { name: 'objects', package: 'org/objects', version: 'latest', type: 'ml_model' };
const look = (attributes: object) => ({ name: 'look', type: 'vision', model: 'classifier', attributes });
const keep = { name: 'keep', type: 'data_manager', attributes: { camera: 'yard' } };
const whole = {
  components: [camera, { name: 'gate', type: 'sensor', model: 'fake' }],
  services: [model, look({ camera: 'yard', mlmodel: 'objects' }), keep],
  packages: [item],
  maintenance: { sensor_name: 'gate', maintenance_allowed_key: 'closed' },
};

const cases: [name: string, config: object, found: string[]][] = [
  ['a whole configuration', whole, []],
  ['nothing', {}, []],
  [
    'a camera that is missing',
    { ...whole, services: [model, look({ camera: 'yrad', mlmodel: 'objects' })] },
    ['error services[1].attributes.camera'],
  ],
  [
    'a sensor in the place of a camera, a camera in the place of a model',
    { ...whole, services: [look({ camera: 'gate', mlmodel: 'yard' })] },
    ['error services[0].attributes.camera', 'error services[0].attributes.mlmodel'],
  ],
  [
    'a package that is missing, in both spellings',
    { services: [model] },
    ['error services[0].attributes.model_path', 'error services[0].attributes.label_path'],
  ],
  [
    'a sensor that is missing would allow every restart',
    { ...whole, components: [camera] },
    ['error maintenance.sensor_name'],
  ],
  ['an unknown type', { components: [{ ...camera, type: 'camra' }] }, ['error components[0].type']],
  ['an unknown model', { components: [{ ...camera, model: 'webcam' }] }, ['error components[0].model']],
  ['no model', { components: [{ name: 'a', type: 'camera' }] }, ['error components[0].model']],
  [
    'triples of the public protocol',
    { components: [{ name: 'a', api: 'rdk:component:camera', model: 'platform:builtin:http' }] },
    [],
  ],
  [
    'a name twice, once as component and once as service',
    { components: [camera], services: [{ ...keep, name: 'yard' }] },
    ['error services[0].name'],
  ],
  ['a package of another type', { packages: [{ ...item, type: 'archive' }] }, ['error packages[0].type']],
  [
    'what comes from elsewhere cannot be looked up',
    {
      services: [model, look({ camera: 'other:cam', mlmodel: 'objects' })],
      remotes: [{ name: 'other', address: 'x' }],
    },
    [],
  ],
  [
    'a model of a module',
    { components: [{ ...camera, model: 'acme:cameras:thermal' }], modules: [{ name: 'acme', executable_path: '/m' }] },
    [],
  ],
];

for (const [name, config, found] of cases)
  test(`references: ${name}`, () => {
    const problems = referenceProblems(config, { knowledge: platformServerKnowledge, isCertain: true });
    assert.deepEqual(
      problems.map(({ severity, path }) => `${severity} ${path}`),
      found,
    );
    assert.ok(problems.every(({ message, remedy }) => message !== '' && remedy.endsWith('.')));
    const soft = referenceProblems(config, { knowledge: platformServerKnowledge, isCertain: false });
    assert.deepEqual(
      soft.map(({ path }) => path),
      problems.map(({ path }) => path),
    );
    assert.ok(
      soft.every(({ path, severity }) => severity === 'warning' || !/\.(type|model|name|sensor_name)$/.test(path)),
    );
  });

test('of an unknown server nothing but packages and the maintenance sensor is checked', () => {
  const config = {
    ...whole,
    packages: [],
    services: [model, look({ camera: 'x' })],
    components: [{ name: 'a', type: 'b' }],
  };
  const problems = referenceProblems(config, { knowledge: undefined, isCertain: false });
  assert.deepEqual(
    problems.map(({ path }) => path),
    ['services[0].attributes.model_path', 'services[0].attributes.label_path', 'maintenance.sensor_name'],
  );
});

test('a component or service without a type is refused, whatever server runs', () => {
  const problems = checkConfig({
    components: [{ name: 'a' }],
    services: [
      { name: 'b', api: 'rdk:service:vision' },
      { name: 'c', type: '' },
    ],
  });
  assert.deepEqual(
    problems.map(({ severity, path }) => `${severity} ${path}`),
    ['error components[0].type', 'error services[1].type'],
  );
});

const texts: [text: string, found: string[]][] = [
  ['{}', []],
  ['[]', []],
  ['"a"', []],
  ['{"a":1,"b":{"a":1}}', []],
  ['{"a":1, "a" : 2}', ['a']],
  ['{"a":{"b":1,"c":{},"b":[]},"a":3,"a":4}', ['a.b', 'a']],
  ['{"l":[{"x":1},{"y":"x","x":{"z":1,"z":1},"x":2}]}', ['l[1].x.z', 'l[1].x']],
  [String.raw`{"a":"{\"b\":1,\"b\":2}","a":1}`, ['a']],
  [String.raw`{"\u0061":1,"a":2}`, ['a']],
  ['{"a":["a","a"],"b":"a"}', []],
];
for (const [text, found] of texts)
  test(`keys that stand twice in ${text}`, () => {
    assert.deepEqual(
      duplicateKeys(text)
        .map(({ path }) => path)
        .toSorted(),
      found.toSorted(),
    );
  });
