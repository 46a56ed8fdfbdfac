// Tests command-line completion in real zsh and fish; cli-training.test.ts covers bash.
import { plainEnvironment } from '@platform/kit/node';
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { tempFolder } from '@platform/kit/testing';
import { startCloud } from '../src/cloud-process.ts';
import { checkout, runCli } from '../src/up-process.ts';

const run = promisify(execFile);

/** Types the line and a tab into an interactive zsh; prints the list that it shows, and the resulting line. */
const zshTyping = `
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "PS1=; autoload -Uz compinit; compinit -u -D; source $1; shown() { zle -I; print -r -- SHO''WN=\\$BUFFER=; }; zle -N shown; bindkey '^G' shown; print REA''DY"
zpty -r z out '*READY*'
zpty -w -n z "$2"$'\\t\\a'
zpty -r z out '*SHOWN=*='
print -r -- "$out"
`;

const completedBy = {
  zsh: async (script: string, line: string, options: { env: Record<string, string>; cwd: string }) => {
    const typing = path.join(options.cwd, 'typing.zsh');
    await writeFile(typing, zshTyping);
    const { stdout } = await run('/usr/bin/zsh', ['-f', typing, script, line], options);
    return stdout.replaceAll(/\u001b\[[\d;?]*[A-Za-z]/g, '').replaceAll('\r', '');
  },
  fish: async (script: string, line: string, options: { env: Record<string, string>; cwd: string }) => {
    const { stdout } = await run(
      '/usr/bin/fish',
      ['-c', 'source $argv[1]; complete -C $argv[2]', script, line],
      options,
    );
    return stdout;
  },
};

const table: [line: string, expected: Record<keyof typeof completedBy, RegExp>][] = [
  ['platform trai', { zsh: /SHOWN=platform train=/, fish: /^train\ttraining jobs$/m }],
  ['platform train can', { zsh: /SHOWN=platform train cancel =/, fish: /^cancel\tcancel a waiting or running job/m }],
  ['platform train c', { zsh: /^containers +-- list the environments/m, fish: /^containers\tlist the environments/m }],
  ['platform machine show p', { zsh: /SHOWN=platform machine show press =/, fish: /^press$/m }],
  ['platform machine pin press s', { zsh: /SHOWN=platform machine pin press server =/, fish: /^server$/m }],
  ['platform logs press --level w', { zsh: /SHOWN=platform logs press --level warn =/, fish: /^warn$/m }],
  [
    'platform machine create "a b" --loc',
    { zsh: /SHOWN=.*"a b" --location =/, fish: /^--location\tID of the location/m },
  ],
  ['platform train submit --model-t', { zsh: /--model-type =/, fish: /^--model-type\t/m }],
  ['platform config set press da', { zsh: /SHOWN=platform config set press data\/=/, fish: /^data\/$/m }],
  ['platform config set press data/', { zsh: /data\/my\\ config\.json =/, fish: /^data\/my config\.json$/m }],
];

for (const shell of ['zsh', 'fish'] as const)
  test(`${shell} completes commands, flags, words, names of the server and files`, async () => {
    await using cloud = await startCloud();
    await using folder = await tempFolder();
    const { ready } = cloud;
    const env = { PLATFORM_URL: ready.url, PLATFORM_API_KEY_ID: ready.api_key_id, PLATFORM_API_KEY: ready.api_key };
    assert.equal((await runCli(env, 'machine', 'create', 'press')).code, 0);
    await mkdir(folder.file('data'));
    await writeFile(folder.file('data', 'my config.json'), '{}');
    const main = path.join(checkout, 'apps/cli/src/main.ts');
    await mkdir(folder.file('bin'));
    await writeFile(
      folder.file('bin', 'platform'),
      `#!/bin/sh\nexec ${process.execPath} --disable-warning=ExperimentalWarning ${main} "$@"\n`,
    );
    await chmod(folder.file('bin', 'platform'), 0o755);
    const script = folder.file('completion');
    await writeFile(script, (await runCli(env, 'completion', shell)).stdout);
    const options = {
      env: { ...plainEnvironment(env), HOME: folder.path, TERM: 'xterm', PATH: `${folder.file('bin')}:/usr/bin:/bin` },
      cwd: folder.path,
    };
    for (const [line, expected] of table)
      assert.match(await completedBy[shell](script, line, options), expected[shell], line);
  });
