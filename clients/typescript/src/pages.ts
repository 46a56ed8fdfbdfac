/** Reads all rows of a list, page by page. An empty token requests the first page and marks the last one. */
export async function allPages<T>(
  page: (pageToken: string) => Promise<{ rows: readonly T[]; nextPageToken: string }>,
): Promise<T[]> {
  const all: T[] = [];
  for (let pageToken = ''; ;) {
    const { rows, nextPageToken } = await page(pageToken);
    for (const row of rows) all.push(row);
    if (nextPageToken === '') return all;
    pageToken = nextPageToken;
  }
}
