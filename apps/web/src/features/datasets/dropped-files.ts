import { useState } from 'react';
import type { DragEvent } from 'react';
import type { BrowserFile } from './image-uploads.ts';

const fileOf = (entry: FileSystemFileEntry): Promise<File> =>
  new Promise((resolve, reject) => entry.file(resolve, reject));
const portionOf = (reader: FileSystemDirectoryReader): Promise<FileSystemEntry[]> =>
  new Promise((resolve, reject) => reader.readEntries(resolve, reject));

async function below(entry: FileSystemEntry, path: string): Promise<BrowserFile[]> {
  const place = path === '' ? entry.name : `${path}/${entry.name}`;
  if (entry.isFile) {
    const source = await fileOf(entry as FileSystemFileEntry);
    // A file outside any folder has no path, as in a file dialog.
    return [{ source, name: source.name, path: path === '' ? '' : place }];
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const found: BrowserFile[] = [];
  for (let some = await portionOf(reader); some.length > 0; some = await portionOf(reader))
    for (const one of some) found.push(...(await below(one, place)));
  return found;
}

/**
 * Returns dropped files and the files in dropped folders. Call it while the drop event is handled; several folders form
 * one set.
 */
async function droppedFiles(transfer: DataTransfer): Promise<BrowserFile[]> {
  const items = [...transfer.items].filter((item) => item.kind === 'file');
  const plain = items.filter((item) => item.webkitGetAsEntry() === null).flatMap((item) => item.getAsFile() ?? []);
  const entries = items.flatMap((item) => item.webkitGetAsEntry() ?? []);
  const folders = entries.filter((entry) => entry.isDirectory);
  // Folders dropped side by side are labels; one alone holds them.
  const root = folders.length > 1 ? 'dropped' : '';
  const found = await Promise.all(entries.map((entry) => below(entry, root)));
  return [...found.flat(), ...plain.map((source) => ({ source, name: source.name, path: '' }))];
}

/** Makes an element take files and folders that the user drops on it. */
export function useFileDrop(onFiles: (files: readonly BrowserFile[]) => void) {
  const [isDragOver, setDragOver] = useState(false);
  const dropTarget = {
    onDragOver: (event: DragEvent): void => {
      if (!event.dataTransfer.types.includes('Files')) return;
      event.preventDefault();
      setDragOver(true);
    },
    onDragLeave: (event: DragEvent): void => {
      if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setDragOver(false);
    },
    onDrop: (event: DragEvent): void => {
      event.preventDefault();
      setDragOver(false);
      void droppedFiles(event.dataTransfer).then(onFiles);
    },
  };
  return { isDragOver, dropTarget };
}
