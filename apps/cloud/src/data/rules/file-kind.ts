/** MIME types by file extension, for files that cameras and users upload. */
const types: Readonly<Record<string, string>> = {
  '.bmp': 'image/bmp',
  '.csv': 'text/csv',
  '.gif': 'image/gif',
  '.gz': 'application/gzip',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.json': 'application/json',
  '.mp4': 'video/mp4',
  '.onnx': 'application/octet-stream',
  '.pcd': 'pointcloud/pcd',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.tif': 'image/tiff',
  '.tiff': 'image/tiff',
  '.txt': 'text/plain',
  '.wav': 'audio/wav',
  '.webp': 'image/webp',
};

/** The extension with its dot; clients send it with and without. Empty stays empty. */
export const dotted = (extension: string): string =>
  extension === '' || extension.startsWith('.') ? extension : `.${extension}`;

/** The extension of a name; '' if there is none. */
export const extensionOf = (fileName: string): string =>
  /[^/]\.([A-Za-z0-9]{1,10})$/.exec(fileName)?.[0].slice(1) ?? '';

/** '' for an unknown extension. */
export const mimeOf = (extension: string): string => types[dotted(extension).toLowerCase()] ?? '';

/** Whether a browser may show the content in our pages; other content is only downloaded. */
export const isShown = (mimeType: string): boolean =>
  /^(image\/(bmp|gif|jpeg|png|webp)|video\/mp4|audio\/wav|text\/plain)$/.test(mimeType);
