/** The host and port of a database URL, or the folder of its socket: without user and password. */
export function databaseHost(url: string): string {
  if (!/^postgres(ql)?:/.test(url) || !URL.canParse(url)) return 'the host of the database URL';
  const { host, searchParams } = new URL(url);
  return searchParams.get('host') ?? (host || 'localhost');
}
