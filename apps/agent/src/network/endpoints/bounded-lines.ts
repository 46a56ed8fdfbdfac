/** Splits a stream into lines and skips empty ones. @throws Error if a line has more than `limitBytes` */
export async function* boundedLines(stream: AsyncIterable<Buffer>, limitBytes: number): AsyncGenerator<string> {
  let chunks: Buffer[] = [];
  let size = 0;
  const take = (part: Buffer): void => {
    size += part.length;
    if (size > limitBytes) throw new Error(`a line is longer than ${limitBytes} bytes`);
    chunks.push(part);
  };
  for await (const chunk of stream) {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      take(chunk.subarray(from, end));
      from = end + 1;
      const line = Buffer.concat(chunks).toString('utf8');
      chunks = [];
      size = 0;
      if (line !== '') yield line;
    }
    take(Buffer.from(chunk.subarray(from))); // a copy: the chunk may be large
  }
}
