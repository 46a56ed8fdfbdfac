import { globSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

/** The shape of a type: fields as `repeated string tags = 6` (messages) or `NAME = 1` (enums), methods as `Name(Request) Response`. */
export type Shapes = ReadonlyMap<string, readonly string[]>;

/** Our names are brand-neutral; the wire has only numbers. */
const ours = (text: string): string =>
  text
    .replaceAll(/\bviam\./g, 'platform.')
    .replaceAll(/\bViam(Server|Agent)Version\b/g, '$1Version')
    .replaceAll(/\bviam_(?=\w)/g, '')
    .replaceAll(/_viam_/g, '_')
    .replaceAll('VIAM', 'PLATFORM');

/** Reads every message, enum and service of the public SDK from its type declarations, and converts it to our names. */
export function publicTypes(): Shapes {
  const sdk = path.dirname(createRequire(import.meta.url).resolve('@viamrobotics/sdk'));
  const shapes = new Map<string, string[]>();
  for (const file of globSync('gen/**/*.d.ts', { cwd: sdk })) {
    const text = readFileSync(path.join(sdk, file), 'utf8');
    let shape: string[] = [];
    let oneof = '';
    const open = (name: string): void => {
      shape = [];
      shapes.set(ours(name), shape);
    };
    for (const line of text.split('\n')) {
      const from = /@generated from (message|enum value:|enum|service|oneof|field:) ?(.*)$/.exec(line);
      const [, kind, rest = ''] = from ?? [];
      if (kind === 'message' || kind === 'enum' || kind === 'service') open(rest);
      else if (kind === 'oneof') oneof = rest.slice(rest.lastIndexOf('.') + 1);
      else if (kind === 'field:') shape.push(ours(`${oneof && `${oneof}: `}${rest.replace(/( \[.*\])?;$/, '')}`));
      else if (kind === 'enum value:') shape.push(ours(rest.replace(/;$/, '')));
      else if (line.includes('case: undefined')) oneof = '';
      const call = /readonly (name|I|O|kind): (?:typeof )?"?([\w.]+)"?/.exec(line);
      if (call?.[1] === 'name') shape.push(`${call[2]}(`);
      else if (call?.[1] === 'I') shape.push(`${shape.pop()}${ours(call[2] ?? '')})`);
      else if (call?.[1] === 'O') shape.push(`${shape.pop()} ${ours(call[2] ?? '')}`);
      else if (call?.[1] === 'kind') shape.push(`${shape.pop()} ${kinds[call[2] ?? ''] ?? call[2]}`);
    }
  }
  return shapes;
}

const kinds: Readonly<Record<string, string>> = {
  'MethodKind.Unary': 'unary',
  'MethodKind.ServerStreaming': 'server_streaming',
  'MethodKind.ClientStreaming': 'client_streaming',
  'MethodKind.BiDiStreaming': 'bidi_streaming',
};
