import assert from 'node:assert/strict';
import { test } from 'node:test';
import { proxiesIn, proxiesOf } from './proxies.ts';

test('proxies of the shell go into the environment of the unit and come out of it as they were', () => {
  const shell = {
    https_proxy: 'http://user:p"a\\ss$HOME`x`@proxy:3128',
    NO_PROXY: 'localhost,10.0.0.0/8',
    HTTP_PROXY: '',
    PATH: '/bin',
    proxy: 'no',
  };
  const text = proxiesOf(shell);
  assert.deepEqual(proxiesIn(text), { https_proxy: shell.https_proxy, NO_PROXY: shell.NO_PROXY });
  assert.deepEqual(proxiesIn(`${text}LD_PRELOAD="x"\nhttp_proxy=bare\n`), proxiesIn(text));
  assert.equal(proxiesOf({ PATH: '/bin' }), '');
});
