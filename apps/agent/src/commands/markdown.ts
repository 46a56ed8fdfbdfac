import type { OptionTable } from '@platform/kit/node';
import type { Command } from './command.ts';
import { exitCodes, exitMeanings } from './exit-codes.ts';

const dashed = (name: string): string => name.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`);
const escaped = (text: string): string => text.replaceAll('|', '\\|');

/** The reference of all commands, for the documentation. */
export function commandsMarkdown(commands: readonly Command[]): string {
  const shown = commands.filter(({ isHidden }) => !isHidden);
  return [
    '## Commands',
    '',
    '| Command | |',
    '|---|---|',
    ...shown.map(({ name, summary }) => `| [\`${name}\`](#${name}) | ${escaped(summary)} |`),
    ...shown.flatMap((command) => ['', `### ${command.name}`, '', command.about, ...optionRows(command.table)]),
    '',
    '## Exit codes',
    '',
    '| Code | Meaning |',
    '|---|---|',
    ...Object.entries(exitCodes).map(
      ([name, code]) => `| ${code} | ${escaped(exitMeanings[name as keyof typeof exitCodes])} |`,
    ),
  ].join('\n');
}

function optionRows(table: OptionTable): string[] {
  const words = Object.values(table).find((spec) => spec.type === 'rest');
  const options = Object.entries(table).filter(([, spec]) => spec.type !== 'rest');
  if (options.length === 0 && !words) return [];
  return [
    '',
    '| Option | Environment | Default | |',
    '|---|---|---|---|',
    ...(words ? [`| words | | | ${escaped(words.description)} |`] : []),
    ...options.map(([name, spec]) => {
      const short = spec.short === undefined ? '' : `\`-${spec.short}\`, `;
      const env = spec.env ?? `PLATFORM_AGENT_${dashed(name).replaceAll('-', '_').toUpperCase()}`;
      const standard = 'default' in spec && spec.default !== undefined ? `\`${String(spec.default)}\`` : '';
      return `| ${short}\`--${dashed(name)}\` | ${env === '' ? '' : `\`${env}\``} | ${standard} | ${escaped(spec.description)} |`;
    }),
  ];
}
