import type { Command } from 'commander';
import { systemClock } from '@platform/kit/node';
import { defaultDataFolder } from '../data-folder.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Run } from '../run.ts';
import { checkResults } from '../server-doctor/checks.ts';
import { findServer } from '../server-doctor/found-server.ts';
import { observe } from '../server-doctor/observe.ts';
import { type CheckResult, isFinding, worstOf } from '../server-doctor/results.ts';
import { runServerProgram } from './server-program.ts';
import { wrapped } from '../terminal-text.ts';

interface Flags {
  readonly dataDir?: string;
  readonly localUrl?: string;
  readonly publicUrl?: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly adoptBlobs?: boolean;
  readonly acceptMissing?: boolean;
  readonly json?: boolean;
}

const marks: Readonly<Record<CheckResult['at'], string>> = { ok: 'ok', note: 'note', warning: 'WARN', failed: 'FAIL' };
const standardWidth = 100;
const narrowest = 30;

export function doctorCommand(admin: Command, run: Run): void {
  admin
    .command('doctor')
    .description(
      'check the server on this host: certificate, clock, disk, database, public URL, units, backup, releases',
    )
    .option('--data-dir <folder>', 'data folder of the server (PLATFORM_DATA_DIR)')
    .option('--local-url <url>', 'URL of the server on this host, if it is not detected')
    .option('--public-url <url>', 'public URL of the server, if it is not detected')
    .option('--tls-cert <file>', 'certificate of the server (PEM file), if it is not detected')
    .option('--tls-key <file>', 'private key of the certificate (PEM file)')
    .option('--adopt-blobs', 'check nothing, but mark the folder of stored files as belonging to this installation')
    .option('--accept-missing', 'with --adopt-blobs: accept that files which the database names are missing')
    .addHelpText('after', '\nChanges nothing without --adopt-blobs. Exits with 1 on a warning or a failed check.')
    .action(
      run(async ({ output, signal }, { dataDir, localUrl, publicUrl, tlsCert, tlsKey, ...adopt }: Flags) => {
        const folder = dataDir ?? (process.env['PLATFORM_DATA_DIR'] || defaultDataFolder());
        if (adopt.adoptBlobs) {
          const server = await findServer(folder, { localUrl, publicUrl, tlsCert, tlsKey });
          const url = server.options.database_url;
          const flags = [...(adopt.acceptMissing ? ['--accept-missing'] : []), ...(adopt.json ? ['--json'] : [])];
          const args = ['blobs', '--adopt', '--data-dir', server.dataFolder, ...flags];
          await runServerProgram(args, signal, url === undefined ? {} : { DATABASE_URL: url });
          return;
        }
        const results = checkResults(await observe(folder, { localUrl, publicUrl, tlsCert, tlsKey }, systemClock));
        output.json({ worst: worstOf(results), checks: results });
        output.text(resultText(results, process.stdout.columns ?? standardWidth));
        if (results.some(isFinding)) process.exitCode = exitCodes.failed;
      }),
    );
}

function resultText(results: readonly CheckResult[], width: number): string {
  const label = Math.max(...results.map(({ name }) => name.length)) + 2;
  const left = 6 + label;
  const room = Math.max(width - left, narrowest);
  return results
    .flatMap(({ name, at, says, why, remedy }) => [
      ...wrapped(says, room).map(
        (line, i) => (i === 0 ? marks[at].padEnd(6) + name.padEnd(label) : ' '.repeat(left)) + line,
      ),
      ...wrapped(why, room).map((line) => ' '.repeat(left) + line),
      ...wrapped(remedy, room - 2).map((line, i) => ' '.repeat(left) + (i === 0 ? '> ' : '  ') + line),
    ])
    .join('\n');
}
