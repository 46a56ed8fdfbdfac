import sax from 'sax';

const maxDepth = 32;

export interface XmlVisitor {
  /** `path`: names of the elements from the root on, with slashes. */
  readonly open: (path: string, attributes: Readonly<Record<string, string>>) => void;
  readonly text: (path: string, text: string) => void;
}

class XmlProblem extends Error {}

/**
 * Walks through XML. Refuses a document type: its entities could grow without limit.
 *
 * @returns the problem; undefined for a document that was read to its end.
 */
export function walkXml(text: string, { open, text: ontext }: XmlVisitor): string | undefined {
  const parser = sax.parser(true, { trim: true });
  const path: string[] = [];
  const visit = (value: string): void => ontext(path.join('/'), value);
  Object.assign(parser, {
    ontext: visit,
    oncdata: visit,
    onerror: (error: Error) => {
      throw new XmlProblem(`it is not XML: ${error.message.split('\n')[0] ?? ''}`);
    },
    ondoctype: () => {
      throw new XmlProblem('a document type (<!DOCTYPE …>) is not read');
    },
    onopentag: ({ name, attributes }: { name: string; attributes: Record<string, string> }) => {
      path.push(name);
      if (path.length > maxDepth) throw new XmlProblem(`elements must lie at most ${maxDepth} deep`);
      open(path.join('/'), attributes);
    },
    onclosetag: () => path.pop(),
  });
  try {
    parser.write(text.replace(/^\ufeff/, '')).close();
    return undefined;
  } catch (error) {
    if (error instanceof XmlProblem) return error.message;
    throw error;
  }
}
