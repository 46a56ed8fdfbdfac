import { isObject } from '@platform/contract/text/json-object';
import { baseName, extensionOf } from './file-names.ts';
import type { FileFormat } from './formats.ts';
import { csvLayout, isClassTable, parseCsv } from './read/csv.ts';
import { isClassFile, isYaml, isYoloText, labelFileFinder, parsedYaml } from './read/yolo.ts';
import { decodeText, decodeXml, linesOf, type ParsedJson, parseJsonText } from './text.ts';

/** What the files of a folder say of its format. */
export interface Evidence {
  readonly format: FileFormat;
  /** Files to read; empty if something is missing. */
  readonly files: readonly string[];
  /** What is missing for the format; undefined if all is there. */
  readonly missing?: string;
}

export interface EvidenceView {
  readonly images: readonly string[];
  readonly dataFiles: readonly string[];
  readonly bytes: (path: string) => Promise<Uint8Array>;
  readonly start: (path: string, bytes: number) => Promise<Uint8Array>;
  readonly json: (path: string) => Promise<ParsedJson>;
}

/** Every format that the folder's files point to. */
export async function findEvidence(view: EvidenceView): Promise<Evidence[]> {
  const byFormat = new Map<FileFormat, string[]>();
  for (const path of view.dataFiles) {
    const format = await formatOfFile(view, path);
    if (format) byFormat.set(format, [...(byFormat.get(format) ?? []), path]);
  }
  const coco = byFormat.get('coco');
  if (coco) byFormat.set('coco', withBoxes(coco));
  const yolo = await yoloEvidence(view);
  return [...[...byFormat].map(([format, files]): Evidence => ({ format, files })), ...(yolo ? [yolo] : [])];
}

/** COCO datasets also contain files with captions and key points. */
function withBoxes(files: readonly string[]): string[] {
  const roboflow = files.filter((path) => baseName(path) === '_annotations.coco.json');
  const instances = files.filter((path) => baseName(path).startsWith('instances'));
  return [...([roboflow, instances].find((some) => some.length > 0) ?? files)];
}

async function formatOfFile(view: EvidenceView, path: string): Promise<FileFormat | undefined> {
  switch (extensionOf(path)) {
    case 'json':
      return formatOfJson(view, path);
    case 'jsonl':
    case 'ndjson':
    case 'manifest':
      return formatOfLines(await view.start(path, 65_536));
    case 'xml': {
      const root = xmlRoot(await view.start(path, 4096));
      return root === 'annotation' ? 'voc' : root === 'annotations' ? 'cvat' : undefined;
    }
    case 'csv':
    case 'tsv': {
      const text = decodeText(await view.bytes(path));
      if ('problem' in text) return undefined;
      const parsed = parseCsv(text.text);
      // A table with a broken row is still one.
      const first = 'rows' in parsed ? parsed : parseCsv(linesOf(text.text)[0] ?? '');
      return 'rows' in first && !isClassTable(path, first.rows) && csvLayout(first.rows) ? 'csv' : undefined;
    }
    default:
      return undefined;
  }
}

async function formatOfJson(view: EvidenceView, path: string): Promise<FileFormat | undefined> {
  const parsed = await view.json(path);
  if ('problem' in parsed) {
    const text = decodeText(await view.bytes(path));
    const looksLikeCoco =
      'text' in text && ['images', 'annotations', 'categories'].every((key) => text.text.includes(`"${key}"`));
    return looksLikeCoco ? 'coco' : undefined;
  }
  const { value } = parsed;
  if (isObject(value)) {
    const hasParts = Array.isArray(value['images']) && Array.isArray(value['annotations']);
    return hasParts && Array.isArray(value['categories']) ? 'coco' : undefined;
  }
  const [first]: unknown[] = Array.isArray(value) ? value : [];
  if (!isObject(first)) return undefined;
  const hasImage = typeof (first['image'] ?? first['imagefilename']) === 'string';
  const annotations: unknown = first['annotations'] ?? first['annotation'];
  if (isObject(first['data'])) return 'labelstudio';
  if (hasImage && annotations !== undefined) return 'createml';
  return hasImage && ('annotator' in first || 'annotation_id' in first || 'lead_time' in first)
    ? 'labelstudio'
    : undefined;
}

function formatOfLines(start: Uint8Array): FileFormat | undefined {
  const [line = ''] = linesOf(new TextDecoder().decode(start)).filter((one) => one.trim() !== '');
  const parsed = parseJsonText(line);
  if (!('value' in parsed) || !isObject(parsed.value)) return undefined;
  if ('image_path' in parsed.value) return 'jsonl';
  return 'source-ref' in parsed.value ? 'sagemaker' : undefined;
}

/** The name of the first element; undefined if none is in the first bytes. */
export function xmlRoot(start: Uint8Array): string | undefined {
  // The end may lie within a character.
  const decoded = decodeXml(start.subarray(0, start.length < 4096 ? undefined : 2048));
  const text = 'text' in decoded ? decoded.text : new TextDecoder('latin1').decode(start);
  const bare = text.replace(/<\?[^>]*\?>|<!--[^]*?-->|<!DOCTYPE[^>[]*(\[[^\]]*\])?[^>]*>/g, '');
  return /<([A-Za-z_][\w.:-]*)/.exec(bare)?.[1];
}

/** Files of boxes to look into before a folder is taken as YOLO. */
const sampled = 20;

async function yoloEvidence(view: EvidenceView): Promise<Evidence | undefined> {
  const labelsOf = labelFileFinder(view.dataFiles);
  const beside = view.images.flatMap((image) => labelsOf(image) ?? []);
  const inLabels = view.dataFiles.filter((path) => /(^|\/)labels\/.*\.txt$/i.test(path) && !isClassFile(path));
  const files = [...new Set([...beside, ...inLabels])];
  const texts = await Promise.all(
    files.slice(0, sampled).map(async (path) => new TextDecoder().decode(await view.start(path, 65_536))),
  );
  // The last line may be cut.
  const hasBoxes = texts.some((text) =>
    isYoloText(text.length < 65_536 ? text : text.slice(0, text.lastIndexOf('\n'))),
  );
  const isEmpty = texts.length > 0 && texts.every((text) => text.trim() === '');
  const named = await yamlWithNames(view);
  if (named !== undefined)
    return files.length > 0
      ? { format: 'yolo', files: [named] }
      : {
          format: 'yolo',
          files: [],
          missing: `${named} names classes, but no text file with boxes lies in labels/ or beside an image`,
        };
  const list = view.dataFiles.find(isClassFile);
  if (list !== undefined && (hasBoxes || isEmpty || inLabels.length > 0)) return { format: 'yolo', files: [list] };
  if (!hasBoxes) return undefined;
  const missing = `${files[0] ?? ''} has boxes, but the class names are missing: add classes.txt with one name per line, obj.names, or names in data.yaml`;
  return { format: 'yolo', files: [], missing };
}

async function yamlWithNames(view: EvidenceView): Promise<string | undefined> {
  for (const path of view.dataFiles.filter((one) => isYaml(one) && one.split('/').length <= 3)) {
    const decoded = decodeText(await view.bytes(path));
    if (!('text' in decoded) || !/^\s*['"]?names['"]?\s*:/m.test(decoded.text)) continue;
    const document = parsedYaml(decoded.text);
    if ('problem' in document || 'names' in document.values) return path;
  }
  return undefined;
}
