/** A file that the user chose, as the browser reports it. */
export interface ChosenFile {
  name: string;
  /** With folders, from the chosen one on: "images/cup/1.jpg"; empty for single files. */
  path: string;
  size: number;
}

export interface PlannedUpload<F> {
  file: F;
  /** Without a dot. */
  extension: string;
  tags: readonly string[];
}
export interface UploadPlan<F> {
  uploads: readonly PlannedUpload<F>[];
  /** The number of images per label. */
  labels: readonly (readonly [label: string, count: number])[];
  refused: readonly { name: string; reason: string }[];
  /** Files in which other tools store labels and boxes; the upload ignores them. */
  annotations: number;
}

const imageFormats: Readonly<Record<string, string>> = { jpg: 'jpg', jpeg: 'jpg', png: 'png', webp: 'webp' };
const splitFolders: Readonly<Record<string, string>> = {
  test: 'split:test',
  validation: 'split:validation',
  val: 'split:validation',
  valid: 'split:validation',
};
const annotationKinds: ReadonlySet<string> = new Set(['json', 'jsonl', 'xml', 'yaml', 'yml', 'txt']);
const mostBytes = 32_000_000;

/**
 * The label of an image is the typed label, else its folder. A folder above it named test or validation keeps the image
 * out of training.
 */
export function uploadPlan<F extends ChosenFile>(files: readonly F[], typedLabel: string): UploadPlan<F> {
  const uploads: PlannedUpload<F>[] = [];
  const refused: { name: string; reason: string }[] = [];
  const counts = new Map<string, number>();
  let annotations = 0;
  for (const file of files) {
    if (file.name.startsWith('.')) continue;
    const kind = /\.([^.]+)$/.exec(file.name)?.[1]?.toLowerCase() ?? '';
    if (annotationKinds.has(kind)) annotations++;
    const extension = imageFormats[kind];
    const folders = file.path.split('/').slice(1, -1);
    const label = typedLabel.trim() || folders.at(-1) || '';
    const split = splitFolders[folders.at(-2)?.toLowerCase() ?? ''];
    if (extension === undefined) refused.push({ name: file.name, reason: 'not a JPEG, PNG or WebP file' });
    else if (file.size > mostBytes) refused.push({ name: file.name, reason: 'is larger than 32 MB' });
    else if (file.size === 0) refused.push({ name: file.name, reason: 'is empty' });
    else {
      uploads.push({ file, extension, tags: [label, split ?? ''].filter((tag) => tag !== '') });
      if (label !== '') counts.set(label, (counts.get(label) ?? 0) + 1);
    }
  }
  return { uploads, labels: [...counts].toSorted(([a], [b]) => a.localeCompare(b)), refused, annotations };
}
