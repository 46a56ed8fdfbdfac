import { PlatformError } from '@platform/contract/errors';

const longestName = 100;

/** Something a person called: trimmed, one line. @throws PlatformError INVALID_ARGUMENT */
export function requiredName(field: string, value: string): string {
  const name = value.trim();
  if (name === '' || name.length > longestName || isBroken(name)) {
    throw new PlatformError('INVALID_ARGUMENT', {
      field,
      value: JSON.stringify(value.slice(0, 40)),
      limit: `a text of 1 to ${longestName} characters on one line`,
    });
  }
  return name;
}

/** Line breaks and other control characters. */
const isBroken = (text: string): boolean => Array.from(text).some((letter) => letter < ' ' || letter === '\u007f');
