const limitBytes = 64 * 2 ** 10;

/** The body of an answer. @throws Error if it is too long */
export async function boundedText(answer: Response): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of (answer.body ?? []) as AsyncIterable<Uint8Array>) {
    size += piece.length;
    if (size > limitBytes) throw new Error(`it sends more than ${limitBytes} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}
