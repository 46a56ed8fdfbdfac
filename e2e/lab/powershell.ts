// Parses the line that the app prints for PowerShell, and does what its statements say: PowerShell itself is not needed.
import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { Language, Parser } from 'web-tree-sitter';

/** The statements of a script. @throws Error if it is not valid PowerShell */
export async function statementsOf(script: string): Promise<string[]> {
  await Parser.init();
  const grammar = createRequire(import.meta.url).resolve('tree-sitter-powershell/tree-sitter-powershell.wasm');
  const parser = new Parser();
  parser.setLanguage(await Language.load(grammar));
  const tree = parser.parse(script);
  if (!tree || tree.rootNode.hasError) throw new Error(`this is not PowerShell: ${script}`);
  return tree.rootNode.namedChildren
    .flatMap((node) => (node?.type === 'statement_list' ? node.namedChildren : []))
    .flatMap((node) => (node === null || node.type === 'empty_statement' ? [] : [node.text.replace(/;\s*$/, '')]));
}

export interface InstallSteps {
  /** Where the program is stored; %TEMP% is the folder of the user. */
  file: string;
  url: string;
  /** In hex. */
  sha256: string;
  /** Arguments of the program. */
  args: string[];
}

/** What the line for Windows does, statement by statement. @throws Error if it does anything else */
export async function installSteps(script: string): Promise<InstallSteps> {
  const kinds = [
    /^\$f = "\$env:TEMP\\(?<file>[\w.-]+)"$/,
    /^curl\.exe -fsSkL -o \$f (?<url>https?:\/\/[^\s;"'$`]+)$/,
    /^if \(\(Get-FileHash \$f\)\.Hash -ne '(?<sha256>[0-9a-f]{64})'\) \{ throw '[^']+' \}$/,
    /^& \$f (?<args>\w+)$/,
  ];
  const statements = await statementsOf(script);
  if (statements.length !== kinds.length) throw new Error(`${statements.length} statements in: ${script}`);
  const found: Record<string, string> = {};
  for (const [i, statement] of statements.entries()) {
    const groups = kinds[i]?.exec(statement)?.groups;
    if (!groups) throw new Error(`statement ${i + 1} is another one: ${statement}`);
    Object.assign(found, groups);
  }
  const { file = '', url = '', sha256 = '', args = '' } = found;
  return { file, url, sha256, args: args.split(' ') };
}

/** Downloads the file, and compares its hash. @throws Error, as the line does */
export async function downloaded({ url, sha256 }: InstallSteps): Promise<Uint8Array> {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url}: ${answer.status}`);
  const bytes = new Uint8Array(await answer.arrayBuffer());
  if (createHash('sha256').update(bytes).digest('hex') !== sha256) throw new Error('this is not the file');
  return bytes;
}
