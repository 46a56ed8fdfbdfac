// Runs the blocks of pages on a machine, one after the other, as an operator types them.
import type { PageBlock } from './page-blocks.ts';
import { hasOutput } from './page-blocks.ts';

/** Where the commands run, as root. */
export interface PageMachine {
  exec(command: string, timeoutSeconds?: number): Promise<{ code: number | null; stdout: string; stderr: string }>;
}

const blockSeconds = 900;
const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** The packages that the page's commands install: the machine has them before. */
export function packagesOf(blocks: readonly PageBlock[]): string[] {
  const commands = blocks.flatMap(({ use, text }) => (use.kind === 'run' ? text.split(/\n|&&|;/) : []));
  const installs = commands.filter((command) => /^\s*(sudo )?apt(-get)? .*\binstall\b/.test(command));
  return installs.flatMap((command) =>
    command
      .slice(command.indexOf('install') + 'install'.length)
      .split(/\s+/)
      .filter((word) => /^[a-z0-9][a-z0-9.+-]*$/.test(word)),
  );
}

/** Working folder and variables go from block to block. @returns the command that runs this one. */
const inSession = (text: string): string =>
  `mkdir -p /run/page; touch /run/page/variables; cd "$(cat /run/page/folder 2>/dev/null || echo /root)"; ` +
  `set -a; . /run/page/variables; set +a; trap 'pwd > /run/page/folder; export -p > /run/page/variables' EXIT; ` +
  `set -e -o pipefail; eval ${quoted(text)}`;

async function runBlock(machine: PageMachine, block: PageBlock, at: number): Promise<void> {
  const { use, text, page, line } = block;
  if (use.kind === 'file') {
    const put = `mkdir -p "$(dirname ${quoted(use.path)})" && printf %s ${quoted(text)} > ${quoted(use.path)}`;
    const { code, stderr } = await machine.exec(put);
    if (code !== 0) throw new Error(`${page}:${line}: ${use.path} cannot be written: ${stderr}`);
  }
  if (use.kind !== 'run') return;
  const unit = `page-${at}`;
  const command = use.isBackground
    ? `systemd-run --quiet --unit ${unit} --setenv HOME=/root bash -c ${quoted(inSession(text))}`
    : inSession(text);
  const { code, stdout, stderr } = await machine.exec(command, blockSeconds);
  const report = `\n${text}\nended with ${code}:\n${stdout}${stderr}`;
  if (code !== use.exitCode) throw new Error(`${page}:${line}: expected exit code ${use.exitCode}${report}`);
  if (!hasOutput(`${stdout}${stderr}`, use.output))
    throw new Error(`${page}:${line}: expected\n${use.output}${report}`);
}

/** @throws Error with page, line and output of the first block that does something else than the page says. */
export async function runPage(machine: PageMachine, blocks: readonly PageBlock[]): Promise<void> {
  await machine.exec('rm -rf /run/page');
  try {
    for (const [at, block] of blocks.entries()) await runBlock(machine, block, at);
  } catch (error) {
    const { stdout } = await machine.exec(`journalctl -n 60 -o cat -u 'page-*' -u 'platform*' --no-pager`);
    throw new Error(`${error instanceof Error ? error.message : String(error)}\n${stdout}`, { cause: error });
  } finally {
    await machine.exec(`systemctl stop 'page-*'; systemctl reset-failed 'page-*'`);
  }
}
