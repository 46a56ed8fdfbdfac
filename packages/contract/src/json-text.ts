/**
 * Reads JSON as people write it into files of a machine: comments (`// …`, `/* … *\/`) and a comma before a closing bracket
 * are left out, a byte order mark, too.
 *
 * @throws SyntaxError when it is no JSON even so
 */
export function parseJsonText(text: string): unknown {
  const plain = text.replace(/^\uFEFF/, '');
  try {
    return JSON.parse(plain) as unknown;
  } catch {
    return JSON.parse(withoutExtras(plain)) as unknown;
  }
}

const part = /"(?:[^"\\]|\\.)*"|\/\/[^\n]*|\/\*[^]*?\*\/|,(?=\s*[\]}])/g;

const withoutExtras = (text: string): string => {
  const strip = (from: string): string => from.replace(part, (found) => (found.startsWith('"') ? found : ' '));
  return strip(strip(text)); // the first pass removes comments after a comma
};
