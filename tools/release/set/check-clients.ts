import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { pythonClient, typescriptClient } from './contents.ts';

const readMember = 'import sys, zipfile; print(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]).decode())';

/** @returns the problems, each with the name of the file. */
export function checkClients(folder: string, version: string): string[] {
  const { wheel, source } = pythonClient(version);
  const rows: [file: string, command: string, args: string[], expected: string][] = [
    [typescriptClient(version), 'tar', ['-xzOf', '$', 'package/package.json'], `"version": "${version}"`],
    [
      wheel,
      'python3',
      ['-c', readMember, '$', `platform_client-${version}.dist-info/METADATA`],
      `\nVersion: ${version}\n`,
    ],
    [source, 'tar', ['-xzOf', '$', `platform_client-${version}/PKG-INFO`], `\nVersion: ${version}\n`],
  ];
  return rows.flatMap(([file, command, args, expected]) => {
    const at = path.join(folder, file);
    const done = spawnSync(
      command,
      args.map((arg) => (arg === '$' ? at : arg)),
      { encoding: 'utf8' },
    );
    return done.stdout?.includes(expected) ? [] : [`${file} does not say version ${version}`];
  });
}
