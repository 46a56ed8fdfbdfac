/**
 * Parses JSON that users write into files of a machine. Ignores comments (`// …`, `/* … *\/`), a comma before a closing
 * bracket, and a byte order mark.
 *
 * @throws SyntaxError when the rest is not JSON
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
