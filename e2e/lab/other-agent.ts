// Another product's agent on a machine of the lab, in a systemd service as that product installs it.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { spawnGroup } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { otherRecord } from '../src/other-agent.ts';
import { checkout } from '../src/up-process.ts';
import type { LabMachine } from './machine.ts';

export const otherUnit = 'viam-agent.service';
const root = '/opt/viam';

const unit = `[Unit]
Description=Agent of another product
After=network-online.target
[Service]
Restart=always
RestartSec=5
TimeoutSec=240
ExecStart=${root}/bin/viam-agent --config /etc/viam.json --enable-syscfg --enable-networking
[Install]
WantedBy=multi-user.target
`;

/** Installs and starts it. @param authority - of the server, PEM. */
export async function installOtherAgent(
  machine: LabMachine,
  { version, credentialsJson, authority }: { version: string; credentialsJson: string; authority: string },
): Promise<void> {
  await using folder = await tempFolder();
  const tree = folder.file('files');
  const file = `${root}/cache/viam-agent-v${version}-x86_64`;
  const program = `#!/bin/sh
OTHER_AGENT_ROOT=${root} OTHER_AGENT_VERSION=${version} NODE_EXTRA_CA_CERTS=${root}/etc/authority.pem exec ${root}/lib/node ${root}/lib/program.mjs "$@"
`;
  const files: Record<string, [content: string, mode: number]> = {
    [file]: [program, 0o755],
    [`${root}/cache/version_cache.json`]: [otherRecord(root, version, file), 0o644],
    [`${root}/etc/authority.pem`]: [authority, 0o644],
    [`${root}/lib/program.mjs`]: [await bundled(), 0o644],
    '/etc/viam.json': [credentialsJson, 0o600],
    [`/etc/systemd/system/${otherUnit}`]: [unit, 0o644],
  };
  for (const [place, [content, mode]] of Object.entries(files)) {
    await mkdir(path.dirname(`${tree}${place}`), { recursive: true });
    await writeFile(`${tree}${place}`, content, { mode });
  }
  await machine.push('/', `${tree}/opt`, `${tree}/etc`);
  await machine.push(`${root}/lib`, process.execPath);
  await machine.must(`mkdir -p ${root}/bin && ln -s ${file} ${root}/bin/viam-agent`);
  await machine.must(`systemctl daemon-reload && systemctl enable --now ${otherUnit}`);
}

/** Bundles the stand-in of the tests into one module. */
async function bundled(): Promise<string> {
  await using folder = await tempFolder();
  const out = folder.file('program.mjs');
  const source = path.join(checkout, 'e2e/src/other-agent-program.ts');
  const group = await spawnGroup({
    command: path.join(
      checkout,
      'node_modules',
      '@oven',
      `bun-linux-${process.arch === 'arm64' ? 'aarch64' : 'x64'}`,
      'bin',
      'bun',
    ),
    args: ['build', '--target=node', '--format=esm', source, '--outfile', out],
    cwd: checkout,
  });
  const [output, { code }] = await Promise.all([group.stderr ? text(group.stderr) : '', group.exited]);
  if (code !== 0) throw new Error(`the stand-in could not be bundled:\n${output}`);
  return readFile(out, 'utf8');
}
