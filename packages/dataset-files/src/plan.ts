import { type Annotated, openCollector } from './collector.ts';
import { holdOutEqualFiles } from './equal-files.ts';
import { type Evidence, findEvidence, type EvidenceView, xmlRoot } from './evidence.ts';
import { baseName, extensionOf, splitOfFolders } from './file-names.ts';
import { type FileFormat, formatNames, type ImportFormat } from './formats.ts';
import { type SortedFiles, sortFiles } from './image-files.ts';
import { alikeLabels } from '@platform/contract/job/alike-labels';
import { type LedgerWriter, openLedger } from './ledger.ts';
import {
  countLabels,
  type ImportPlan,
  isTyped,
  type PlannedImage,
  type Refusal,
  withLabels,
} from './planned-images.ts';
import { readCoco } from './read/coco.ts';
import { readCreateMl } from './read/create-ml.ts';
import { readCsv } from './read/csv.ts';
import { readCvat } from './read/cvat.ts';
import { folderLabels } from './read/folders.ts';
import { readJsonl } from './read/jsonl.ts';
import { readLabelStudio } from './read/label-studio.ts';
import type { ReadFiles, ReadView } from './read/reader.ts';
import { readSageMaker } from './read/sagemaker.ts';
import { readVoc } from './read/voc.ts';
import { readYolo } from './read/yolo.ts';
import type { Source } from './source.ts';
import { decodeText, type ParsedJson, parseJsonText } from './text.ts';

export interface ImportOptions {
  readonly format?: ImportFormat;
  /** Labels of all images, in place of those of folders or files. */
  readonly labels?: readonly string[];
  /** Leave out outlines instead of taking the boxes around them. */
  readonly withoutOutlines?: boolean;
  /** The only file of annotations to read, a path of the source. */
  readonly annotations?: string;
}

const readers: Readonly<Record<FileFormat, ReadFiles>> = {
  jsonl: readJsonl,
  coco: readCoco,
  yolo: readYolo,
  voc: readVoc,
  cvat: readCvat,
  labelstudio: readLabelStudio,
  createml: readCreateMl,
  csv: readCsv,
  sagemaker: readSageMaker,
};

/**
 * Decides what an import takes from a folder: images with their labels, boxes and splits, and an account of every file
 * and every annotation. Never throws for what a file contains.
 */
export async function planImport(source: Source, options: ImportOptions = {}): Promise<ImportPlan> {
  const ledger = openLedger();
  const sorted = await sortFiles(source, ledger);
  const view = evidenceView(source, sorted, options, ledger);
  const { format = 'auto', labels } = options;
  const evidence = format === 'folders' ? [] : await findEvidence(view);
  const decision = await decide(view, evidence, format, labels);
  const annotated = new Map<string, Annotated>();
  if ('evidence' in decision) {
    const collector = openCollector(sorted, ledger, options.withoutOutlines ?? false);
    const readView: ReadView = {
      images: view.images,
      dataFiles: view.dataFiles,
      bytes: view.bytes,
      json: view.json,
      collector,
      ledger,
    };
    for (const file of decision.evidence.files) ledger.file(file, 'annotations');
    await readers[decision.evidence.format](readView, decision.evidence.files);
    for (const [path, one] of collector.result()) annotated.set(path, one);
  }
  await accountForRest(view, ledger, format);
  const isByFolder = !('evidence' in decision);
  const planned =
    'refusal' in decision ? [] : planImages(sorted, { annotated, isByFolder, isTyped: isTyped(labels), ledger });
  const images = await holdOutEqualFiles(planned, source, ledger);
  const counts = countLabels(images);
  for (const group of alikeLabels(counts.keys())) ledger.warn('Labels that look alike stay apart', group.join(', '));
  const plan: ImportPlan = {
    format: isByFolder ? 'folders' : titleOf(decision.evidence),
    images,
    counts,
    annotated: annotated.size,
    ledger: ledger.read(),
    ...('refusal' in decision && { refusal: decision.refusal }),
  };
  return withLabels(plan, labels);
}

/** Larger files cannot be annotations: JavaScript has no string of that size. */
const mostTextBytes = 512 * 1024 * 1024 - 64;

function evidenceView(source: Source, sorted: SortedFiles, options: ImportOptions, ledger: LedgerWriter): EvidenceView {
  const sizes = new Map(source.files.map(({ path, sizeBytes }) => [path, sizeBytes]));
  const parsed = new Map<string, Promise<ParsedJson>>();
  const bytes = async (path: string): Promise<Uint8Array> => source.read(path);
  const parse = async (path: string): Promise<ParsedJson> => {
    const decoded = decodeText(await bytes(path));
    return 'text' in decoded ? parseJsonText(decoded.text) : decoded;
  };
  const isExport = sorted.dataFiles.includes('dataset.jsonl');
  const dataFiles = sorted.dataFiles.filter((path) => {
    const reason =
      options.annotations !== undefined && path !== options.annotations
        ? 'not read: another file of annotations was named'
        : isExport && path.startsWith('metadata/')
          ? 'metadata of an export'
          : undefined;
    if (reason !== undefined) ledger.file(path, 'not data', reason);
    const isTooLarge = reason === undefined && (sizes.get(path) ?? 0) > mostTextBytes;
    if (isTooLarge) ledger.invalid(path, 'file', 'a file of annotations has at most 512 MiB');
    return reason === undefined && !isTooLarge;
  });
  return {
    images: [...sorted.headers.keys()],
    dataFiles,
    bytes,
    start: async (path, count) => source.readStart(path, count),
    json: async (path) => {
      const found = parsed.get(path) ?? parse(path);
      parsed.set(path, found);
      return found;
    },
  };
}

type Decision = { readonly evidence: Evidence } | { readonly folders: true } | { readonly refusal: Refusal };

async function decide(
  view: EvidenceView,
  evidence: readonly Evidence[],
  format: ImportFormat,
  labels: readonly string[] | undefined,
): Promise<Decision> {
  if (format === 'folders') return { folders: true };
  if (format !== 'auto') {
    const chosen = evidence.find((one) => one.format === format);
    if (chosen && chosen.files.length > 0) return { evidence: chosen };
    const { title, sign } = formatNames[format];
    const problem = `For ${title} the folder needs ${sign}${chosen?.missing === undefined ? '' : `; ${chosen.missing}`}`;
    return { refusal: { problem, formats: ['auto', 'folders'] } };
  }
  const whole = evidence.filter(({ missing }) => missing === undefined);
  const [first, ...more] = whole;
  if (first && more.length === 0) return { evidence: first };
  if (first) {
    const found = whole.map(titleOf).join(' and ');
    return { refusal: { problem: `The folder looks like ${found}`, formats: whole.map((one) => one.format) } };
  }
  const [half] = evidence;
  if (isTyped(labels)) return { folders: true };
  if (half)
    return {
      refusal: {
        problem: `The folder looks like ${formatNames[half.format].title}: ${half.missing ?? ''}`,
        formats: [half.format, 'folders'],
      },
    };
  const unread: string[] = [];
  for (const path of view.dataFiles) if (await namesImages(view, path)) unread.push(path);
  if (unread.length === 0) return { folders: true };
  const some = `${unread.slice(0, 3).join(', ')}${unread.length > 3 ? ` and ${unread.length - 3} more` : ''}`;
  const problem = `${some} names images of the folder, as files of annotations do, but no format that is read has such a file`;
  return { refusal: { problem, formats: ['folders'] } };
}

const titleOf = ({ format, files }: Evidence): string => {
  const some = files.length > 3 ? `${files.length} files` : files.join(', ');
  return `${formatNames[format].title} (${some})`;
};

/** Names to search for in a file. */
const searchedNames = 64;

/** Whether a file names some image of the folder. */
async function namesImages(view: EvidenceView, path: string): Promise<boolean> {
  const step = Math.max(1, Math.floor(view.images.length / searchedNames));
  const names = view.images.filter((_image, at) => at % step === 0).map(baseName);
  const decoded = decodeText(await view.bytes(path));
  return 'text' in decoded && names.some((name) => decoded.text.includes(name));
}

/** Every file that no reader has used. */
async function accountForRest(view: EvidenceView, ledger: LedgerWriter, format: ImportFormat): Promise<void> {
  for (const path of view.dataFiles) {
    if (ledger.useOf(path) !== undefined) continue;
    if (format === 'folders') ledger.file(path, 'not data', 'not read with the format folders');
    else if (await namesImages(view, path))
      ledger.file(path, 'left out', 'names images, but no format that is read has such a file');
    else ledger.file(path, 'not data', await whyNoData(view, path));
  }
}

async function whyNoData(view: EvidenceView, path: string): Promise<string> {
  if (extensionOf(path) !== 'xml') return 'names no image';
  const root = xmlRoot(await view.start(path, 4096));
  return root === undefined ? 'has no XML element' : `its first element is <${root}>`;
}

interface Choice {
  readonly annotated: ReadonlyMap<string, Annotated>;
  readonly isByFolder: boolean;
  readonly isTyped: boolean;
  readonly ledger: LedgerWriter;
}

function planImages(
  { headers, sizes }: SortedFiles,
  { annotated, isByFolder, isTyped: hasTypedLabels, ledger }: Choice,
): PlannedImage[] {
  const byFolder = folderLabels([...headers.keys()]);
  return [...headers].map(([path, header]) => {
    const ofFile = annotated.get(path);
    const ofFolder = isByFolder ? byFolder(path) : { label: undefined, split: splitOfFolders(path) };
    const own = ofFile?.labels ?? (ofFolder.label === undefined ? [] : [ofFolder.label]);
    if (isByFolder && !hasTypedLabels) for (const _label of own) ledger.used(path, 'folder');
    return {
      path,
      fileName: baseName(path),
      sizeBytes: sizes.get(path) ?? 0,
      extension: header.type,
      labels: [...new Set(own)],
      split: ofFile?.split ?? ofFolder.split,
      boxes: ofFile?.boxes ?? [],
    };
  });
}
