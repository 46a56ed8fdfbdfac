import { PlatformError } from '@platform/contract/errors';

const longestName = 100;

/** Something a person called: trimmed, one line. @throws PlatformError INVALID_ARGUMENT */
export function requiredName(field: string, value: string): string {
  const name = value.trim();
  // oxlint-disable-next-line no-control-regex -- names are shown on one line
  if (name === '' || name.length > longestName || /[\u0000-\u001f\u007f]/.test(name)) {
    throw new PlatformError('INVALID_ARGUMENT', {
      field,
      value: JSON.stringify(value.slice(0, 40)),
      limit: `a text of 1 to ${longestName} characters on one line`,
    });
  }
  return name;
}
