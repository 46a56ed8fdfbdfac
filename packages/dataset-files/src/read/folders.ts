import type { Split } from '@platform/contract/job/job';
import { folderName, splitOf } from '../file-names.ts';
import { plainLabel } from '@platform/contract/job/alike-labels';

/** Folder of images without a split, beside those of splits: written where a label could be taken for a split. */
export const noSplitFolder = 'no-split';

export interface FolderLabel {
  readonly label: string | undefined;
  readonly split: Split | undefined;
}

interface Node {
  readonly children: Map<string, Node>;
  hasImages: boolean;
}

const isSplitName = (name: string): boolean => splitOf(name) !== undefined || name.toLowerCase() === noSplitFolder;

/**
 * Labels and splits by folders. The innermost folder is the label. A folder that is called like a split is one if a
 * label folder lies in it, or if all folders beside it are called like splits: a class may be called `train`.
 */
export function folderLabels(images: readonly string[]): (image: string) => FolderLabel {
  const root: Node = { children: new Map(), hasImages: false };
  for (const image of images) {
    let node = root;
    for (const name of foldersOf(image)) {
      const child = node.children.get(name) ?? { children: new Map<string, Node>(), hasImages: false };
      node.children.set(name, child);
      node = child;
    }
    node.hasImages = true;
  }
  return (image) => labelOf(root, foldersOf(image));
}

const foldersOf = (image: string): string[] => folderName(image).split('/').filter(Boolean);

function labelOf(root: Node, folders: readonly string[]): FolderLabel {
  const last = folders.at(-1);
  if (last === undefined) return { label: undefined, split: undefined };
  const above = folders.slice(0, -1);
  const outer = above.findLast(isSplitName);
  const parent = above.reduce<Node | undefined>((node, name) => node?.children.get(name), root);
  const isSplit = outer === undefined && isSplitName(last) && isSplitFolder(parent, last);
  if (!isSplit) return { label: plainLabel(last), split: outer === undefined ? undefined : splitOf(outer) };
  // Label folders with a folder per split: cup/train, cup/val. A single folder around the splits does not name a label.
  const label = above.at(-1);
  const isOnlyFolder = above.length === 1 && root.children.size === 1 && !root.hasImages;
  return { label: label === undefined || isOnlyFolder ? undefined : plainLabel(label), split: splitOf(last) };
}

function isSplitFolder(parent: Node | undefined, name: string): boolean {
  if (!parent) return true;
  if ((parent.children.get(name)?.children.size ?? 0) > 0) return true;
  return [...parent.children.keys()].every(isSplitName);
}
