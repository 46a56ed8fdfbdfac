import type { Collector } from '../collector.ts';
import type { LedgerWriter } from '../ledger.ts';
import { decodeText, decodeXml, type ParsedJson, type Text } from '../text.ts';

/** What a reader of a format sees of the folder. */
export interface ReadView {
  /** Images that can be used. */
  readonly images: readonly string[];
  /** Files that may hold annotations. */
  readonly dataFiles: readonly string[];
  readonly bytes: (path: string) => Promise<Uint8Array>;
  readonly json: (path: string) => Promise<ParsedJson>;
  readonly collector: Collector;
  readonly ledger: LedgerWriter;
}

/** Reads the files of a format. Reports each annotation to the ledger and never throws for what a file contains. */
export type ReadFiles = (view: ReadView, files: readonly string[]) => Promise<void>;

/** The text of a file; reports a file that cannot be decoded. */
export async function textOf(view: ReadView, path: string, decode = decodeText): Promise<string | undefined> {
  const decoded: Text = decode(await view.bytes(path));
  if ('text' in decoded) return decoded.text;
  view.ledger.invalid(path, 'file', decoded.problem);
  return undefined;
}
export const xmlTextOf = async (view: ReadView, path: string): Promise<string | undefined> =>
  textOf(view, path, decodeXml);

export async function jsonOf(view: ReadView, path: string): Promise<unknown> {
  const parsed = await view.json(path);
  if ('value' in parsed) return parsed.value;
  view.ledger.invalid(path, 'file', parsed.problem);
  return undefined;
}

/** A finite number; numbers in text count. */
export const numberIn = (value: unknown): number =>
  typeof value === 'number' ? value : typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN;
/** A text that is not empty; numbers count. */
export const textIn = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : typeof value === 'number' ? String(value) : undefined;
