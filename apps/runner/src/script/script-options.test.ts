import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { options, Usage } from '@platform/kit/node';
import { localCapabilities } from '../local-capabilities.ts';
import { withScripts } from './open-scripts.ts';
import { scriptOptions, scriptTable, type ScriptOptions } from './script-options.ts';

const read = (...argv: string[]): ScriptOptions => scriptOptions(options(scriptTable, { argv, env: {} }));

test('scripts run, without network, with all processors, unless the operator says otherwise', () => {
  assert.deepEqual(read(), {
    enabled: true,
    pythons: [],
    network: false,
    wheelhouse: undefined,
    weights: undefined,
    pipIndexUrl: undefined,
    cpus: availableParallelism(),
    processes: 512,
    nice: 0,
  });
  assert.deepEqual(
    read(
      '--no-scripts',
      '--allow-script-network',
      '--wheelhouse',
      'wheels',
      '--script-cpus',
      '0.5',
      '--script-python',
      'a:1=/x',
    ),
    {
      enabled: false,
      pythons: [{ key: 'a:1', python: '/x' }],
      network: true,
      wheelhouse: path.resolve('wheels'),
      weights: undefined,
      pipIndexUrl: undefined,
      cpus: 0.5,
      processes: 512,
      nice: 0,
    },
  );
  assert.equal(read('--script-cpus', '100000').cpus, availableParallelism());
});

const wrong: [string[], RegExp][] = [
  [['--script-python', 'py:3.11=python3'], /--script-python: "python3" must be an absolute path/],
  [['--pip-index-url', 'mirror'], /--pip-index-url must be an address/],
  [['--pip-index-url', 'file:///x'], /--pip-index-url must be an address/],
  [['--script-processes', '3'], /from 16 to 100000, not "3"/],
];
for (const [argv, message] of wrong) {
  test(`refused: ${argv.join(' ')}`, () => {
    assert.throws(
      () => read(...argv),
      (error) => error instanceof Usage && message.test(error.message),
    );
  });
}

test('without a sandbox the offer has no custom jobs, and says why', () => {
  const offer = withScripts(localCapabilities({}, '1'), { because: 'bubblewrap is missing. Install it.' });
  assert.deepEqual(
    [offer.kinds, offer.containers, offer.noScriptsBecause],
    [[], [], 'bubblewrap is missing. Install it.'],
  );
});
