const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/**
 * A header line of HTTP/1 without its line break, in linear time for any text. @returns undefined: it is none.
 * Source: RFC 9112, section 5; RFC 9110, section 5.6.2
 */
export function httpFieldOf(line: string): { name: string; value: string } | undefined {
  const colon = line.indexOf(':');
  const name = line.slice(0, Math.max(colon, 0));
  if (!token.test(name) || /[\0\r\n]/.test(line)) return undefined;
  let [from, to] = [colon + 1, line.length];
  while (from < to && isBlank(line[from])) from++;
  while (to > from && isBlank(line[to - 1])) to--;
  return { name, value: line.slice(from, to) };
}

const isBlank = (character: string | undefined): boolean => character === ' ' || character === '\t';
