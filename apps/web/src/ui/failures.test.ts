import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Code, ConnectError } from '@connectrpc/connect';
import { ErrorInfoSchema } from '@platform/contract/gen/google/rpc/error_details_pb';
import { ConfigProblemsSchema, Severity } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { failureOf, hasServerAnswer, isLasting, isSignedOut } from './failures.ts';

test('code, sentence and remedy come from ErrorInfo; the other facts stay', () => {
  const metadata = { what: 'There is no dataset 7.', remedy: 'Check dataset_id.', datasetId: '7' };
  const error = new ConnectError('DATASET_NOT_FOUND: …', Code.NotFound, undefined, [
    { desc: ErrorInfoSchema, value: { reason: 'DATASET_NOT_FOUND', domain: 'platform', metadata } },
  ]);
  assert.deepEqual(failureOf(error), {
    code: 'DATASET_NOT_FOUND',
    what: 'There is no dataset 7.',
    remedy: 'Check dataset_id.',
    facts: { datasetId: '7' },
    problems: [],
  });
});

test('problems of a refused configuration come along', () => {
  const problem = {
    path: 'agent.advanced_settings.debug',
    message: 'must be true or false',
    remedy: '',
    severity: Severity.ERROR,
  };
  const error = new ConnectError('refused', Code.InvalidArgument, undefined, [
    { desc: ErrorInfoSchema, value: { reason: 'INVALID_CONFIG', domain: 'platform' } },
    { desc: ConfigProblemsSchema, value: { problems: [problem] } },
  ]);
  const failure = failureOf(error);
  assert.equal(failure.code, 'INVALID_CONFIG');
  assert.deepEqual(
    failure.problems.map((one) => one.path),
    ['agent.advanced_settings.debug'],
  );
});

test('without ErrorInfo there is still a remedy', () => {
  const table: [error: unknown, code: string, remedy: RegExp][] = [
    [new ConnectError('', Code.Unauthenticated), 'UNAUTHENTICATED', /Sign in/],
    [new ConnectError('no such method', Code.Unimplemented), 'UNIMPLEMENTED', /reload/],
    [new TypeError('Failed to fetch'), 'UNAVAILABLE', /server runs/],
    [new ConnectError('gone', Code.DataLoss), 'DATA_LOSS', /log of the server/],
    [new ConnectError('HTTP 500', Code.Unknown), 'HTTP_500', /log of the server, and of the proxy/],
  ];
  for (const [error, code, remedy] of table) {
    const failure = failureOf(error);
    assert.equal(failure.code, code);
    assert.match(failure.remedy, remedy);
    assert.match(failure.what, /\.$/);
  }
});

test('an answer of the server is distinguished from a network or a proxy that fails', () => {
  const info = { reason: 'CLOUD_BUSY', domain: 'platform', metadata: {} };
  const table: [error: unknown, isAnswer: boolean][] = [
    [new ConnectError('no', Code.NotFound), true],
    [new ConnectError('bug', Code.Internal), true],
    [new ConnectError('busy', Code.Unavailable, undefined, [{ desc: ErrorInfoSchema, value: info }]), true],
    [new ConnectError('HTTP 502', Code.Unavailable), false],
    [new ConnectError('HTTP 500', Code.Unknown), false],
    [new TypeError('Failed to fetch'), false],
  ];
  for (const [error, isAnswer] of table) assert.equal(hasServerAnswer(error), isAnswer, String(error));
});

test('only a missing session asks for a sign-in', () => {
  assert.equal(isSignedOut(new ConnectError('', Code.Unauthenticated)), true);
  assert.equal(isSignedOut(new ConnectError('', Code.PermissionDenied)), false);
  assert.equal(isSignedOut(null), false);
  assert.equal(isLasting(new ConnectError('', Code.NotFound)), true);
  assert.equal(isLasting(new ConnectError('', Code.Unavailable)), false);
  assert.equal(isLasting(new TypeError('Failed to fetch')), false);
  assert.equal(isLasting(null), false);
});
