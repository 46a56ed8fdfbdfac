// Enumerated values: the program completes them for a shell and rejects all others.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { platform } from './platform.ts';

const programs = ['platform-agent', 'platform-server'];
const modelTypes = ['single-label', 'multi-label', 'object-detection'];
const visibilities = ['private', 'public', 'public-unlisted'];

const offers: [line: string, words: string[]][] = [
  ['machine pin press ', ['agent', 'server']],
  ['machine pin press s', ['server']],
  ['machine pin press server ', []],
  ['machine unpin press ', ['agent', 'server']],
  ['release promote ', programs],
  ['release promote platform-agent 1.0.0 ', ['stable', 'dev']],
  ['release revoke ', programs],
  ['release list --name ', programs],
  ['release publish --channel ', ['stable', 'dev']],
  ['train submit --model-type ', modelTypes],
  ['train submit --model-type=multi', ['multi-label']],
  ['train check --model-type ', modelTypes],
  ['train submit --framework ', ['tflite', 'onnx']],
  ['train submit --recipe ', ['auto', 'compact', 'accurate', 'probe']],
  ['train list --status ', ['all', 'pending', 'in-progress', 'completed', 'failed', 'canceling', 'canceled']],
  ['training-script upload --model-type ', modelTypes],
  ['training-script upload --framework ', ['tflite', 'tensorflow', 'pytorch', 'onnx']],
  ['training-script upload --visibility ', visibilities],
  ['training-script update mine --visibility ', visibilities],
  ['logs press --level ', ['debug', 'info', 'warn', 'error']],
  ['key create mine --role ', ['owner', 'operator', 'runner', 'metrics']],
  ['completion ', ['zsh', 'bash', 'fish', 'powershell']],
];

for (const [line, words] of offers)
  test(`offered at: platform ${line}|`, () => {
    const { stdout, stderr } = platform('complete', '--', ...line.split(' '));
    const offered = stdout.split('\n').map((one) => one.split('\t')[0] ?? '');
    assert.deepEqual(
      offered.filter((word) => !/^(:|$)/.test(word)),
      words,
      stderr,
    );
  });

const refusals: [line: string, what: RegExp][] = [
  ['machine pin press kernel 1.0.0', /^program is not valid: kernel; one of agent, server/],
  ['release promote agent 1.0.0 dev', /^name is not valid: agent; one of platform-agent, platform-server/],
  ['release promote platform-agent 1.0.0 nightly', /^channel is not valid: nightly; one of stable, dev/],
  ['release publish file --channel dev nightly', /^--channel is not valid: nightly; one of stable, dev/],
  ['train list --status lost', /^--status is not valid: lost; one of all, .*running/],
  ['logs press --level warn --level loud', /^--level is not valid: loud; one of debug/],
  ['key create mine --role king', /^--role is not valid: king; one of owner, operator, runner, metrics/],
];

for (const [line, what] of refusals)
  test(`refused before any request to a server: platform ${line}`, () => {
    const { code, stdout, stderr } = platform(...line.split(' '), '--json');
    assert.deepEqual([code, stdout], [2, '']);
    const { error } = JSON.parse(stderr) as { error: { code: string; what: string } };
    assert.equal(error.code, 'INVALID_ARGUMENT');
    assert.match(error.what, what);
  });
