import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PlatformError } from '@platform/contract/errors/errors';
import { Ended } from '../exit-codes.ts';
import { askSettings, type Checks } from './questions.ts';
import type { SettingFlags } from './settings.ts';

/** Only `cert.pem` with `key.pem`, and any folder but `/full`. */
const checks: Checks = {
  certificate({ certificate, key }) {
    if (certificate === 'cert.pem' && key === 'key.pem') return;
    throw new PlatformError('CERTIFICATE_UNUSABLE', { file: certificate, problem: 'no such file' });
  },
  backupFolder(folder) {
    if (folder === '/full') throw new PlatformError('BACKUP_FOLDER_UNUSABLE', { path: folder, problem: 'other files' });
  },
};

interface Story {
  readonly name: string;
  readonly flags?: SettingFlags;
  readonly answers: readonly string[];
  readonly settings: SettingFlags;
  /** What a wrong answer is refused with. */
  readonly refusals?: readonly RegExp[];
}

const stories: readonly Story[] = [
  { name: 'nothing: this host alone', answers: ['', ''], settings: {} },
  {
    name: 'certificate, key, URL and backups',
    answers: ['cert.pem', ' key.pem ', 'https://platform.example.com', '/srv/backups'],
    settings: {
      tlsCert: 'cert.pem',
      tlsKey: 'key.pem',
      publicUrl: 'https://platform.example.com',
      backupDir: '/srv/backups',
    },
  },
  {
    name: 'a typo in each answer',
    answers: ['crt.pem', 'key.pem', 'cert.pem', 'key.pem', 'platform', 'ftp://x', '', '~/backups', '/full', ''],
    settings: { tlsCert: 'cert.pem', tlsKey: 'key.pem' },
    refusals: [
      /crt\.pem.*no such file/,
      /platform.*a URL such as/,
      /ftp:\/\/x.*a URL such as/,
      /~\/backups.*an absolute path/,
      /\/full.*other files/,
    ],
  },
  {
    name: 'flags are not asked for',
    flags: { tlsKey: 'key.pem', publicUrl: 'https://a.example', backupDir: '/b' },
    answers: ['cert.pem'],
    settings: { tlsCert: 'cert.pem', tlsKey: 'key.pem', publicUrl: 'https://a.example', backupDir: '/b' },
  },
];

for (const { name, flags = {}, answers, settings, refusals = [] } of stories)
  test(`questions of an installation: ${name}`, async () => {
    const left = [...answers];
    const shown: string[] = [];
    const terminal = { ask: async () => left.shift(), say: (text: string) => void shown.push(text) };
    assert.deepEqual(await askSettings(flags, terminal, checks), settings);
    assert.deepEqual(left, []);
    assert.equal(shown.length, refusals.length);
    for (const [at, refusal] of refusals.entries()) assert.match(shown[at] ?? '', refusal);
  });

test('questions of an installation: the end of the input changes nothing', async () => {
  const left = ['cert.pem'];
  const terminal = { ask: async () => left.shift(), say: () => {} };
  await assert.rejects(askSettings({}, terminal, checks), (error) => error instanceof Ended && error.exitCode === 130);
});
