import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failureLines } from './run-packages.ts';

const mismatch = `Get:1 http://archive.example bookworm InRelease [2,144 B]
Err:2 http://archive.example bookworm/main amd64 Packages
  Hash Sum mismatch
  Hashes of expected file:
   - Filesize:4096 [weak]
   - SHA256:aa
   - MD5Sum:bb [weak]
  Hashes of received file:
   - SHA256:cc
   - MD5Sum:dd [weak]
   - Filesize:4096 [weak]
  Release file created at: Fri, 27 Nov 2026 00:00:00 +0000
E: Failed to fetch http://archive.example/dists/bookworm/main/binary-amd64/Packages.gz  Hash Sum mismatch
   Hashes of expected file:
    - Filesize:4096 [weak]
    - SHA256:aa
   Hashes of received file:
    - SHA256:cc
    - Filesize:4096 [weak]
E: Some index files failed to download. They have been ignored, or old ones used instead.`;

const script = `Setting up tool (1.2) ...
dpkg: error processing package tool (--configure):
 installed tool package post-installation script subprocess returned error exit status 3
Errors were encountered while processing:
 tool
needrestart is being skipped since dpkg has failed
E: Sub-process /usr/bin/dpkg returned an error code (1)`;

const unattended = `Packages that will be upgraded: tool
Writing dpkg log to /var/log/unattended-upgrades/unattended-upgrades-dpkg.log
Installing the upgrades failed!
error message: installArchives() failed
dpkg returned a error! See /var/log/unattended-upgrades/unattended-upgrades-dpkg.log for details`;

const rows: [string, string, string[]][] = [
  [
    'a repository whose files do not have the hashes of its index',
    mismatch,
    [
      'Err:2 http://archive.example bookworm/main amd64 Packages: Hash Sum mismatch',
      'E: Failed to fetch http://archive.example/dists/bookworm/main/binary-amd64/Packages.gz  Hash Sum mismatch',
      'E: Some index files failed to download. They have been ignored, or old ones used instead.',
    ],
  ],
  [
    'a script of a package that fails',
    script,
    [
      'dpkg: error processing package tool (--configure):',
      ' installed tool package post-installation script subprocess returned error exit status 3',
      'E: Sub-process /usr/bin/dpkg returned an error code (1)',
    ],
  ],
  ['unattended-upgrade that fails', unattended, ['error message: installArchives() failed']],
  ['no line with a cause: the last ones', '1\n2\n3\n4\n5\n6', ['2', '3', '4', '5', '6']],
  ['many causes: the last ones', '1\nE: 2\nE: 3\nE: 4\nE: 5\nE: 6\nE: 7\n8', ['E: 3', 'E: 4', 'E: 5', 'E: 6', 'E: 7']],
];

for (const [name, output, shown] of rows)
  test(`the lines of a package manager that failed: ${name}`, () =>
    assert.deepEqual(failureLines(output.split('\n')), shown));
