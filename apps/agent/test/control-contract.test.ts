import { mkdir } from 'node:fs/promises';
import { test } from 'node:test';
import { tempFolder } from '@platform/kit/testing';
import { unixSocket } from '../src/control/unix-socket.ts';
import { controlContract } from './control-contract.ts';

test('the control channel over a Unix socket', async (t) => {
  await using folder = await tempFolder();
  await mkdir(folder.file('state'));
  await controlContract({ root: folder.path, open: unixSocket(folder.path) }, (name, work) => t.test(name, work));
});
