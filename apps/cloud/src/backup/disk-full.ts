/** What the operating system and PostgreSQL say of a disk without space, or of an account without more of it. */
const codes = ['ENOSPC', 'EDQUOT', '53100'];

export const isDiskFull = (error: unknown): boolean =>
  codes.includes(String((error as { code?: unknown } | null)?.code));
