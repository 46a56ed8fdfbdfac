/** What the markers of a JPEG file announce. */
interface JpegMarkers {
  readonly width: number;
  readonly height: number;
  /** 1: grey; 3: colour; 4: CMYK. 0: the file has no frame. */
  readonly components: number;
  /** A progressive file has several. */
  readonly scans: number;
  /** Whether the image has its end. */
  readonly isComplete: boolean;
}

const [startOfFrame, lastStartOfFrame] = [0xc0, 0xcf];
/** In the range of frames, but tables: Huffman, reserved, arithmetic coding. */
const tables: readonly number[] = [0xc4, 0xc8, 0xcc];
const endOfImage = 0xd9;
const startOfScan = 0xda;
/** Restart markers, the start of the image, and 0x01 have no content. */
const isBare = (marker: number): boolean => marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8);

/** Reads the markers of the first image as libjpeg does: bytes between segments, and between scans, do not matter. */
export function jpegMarkers(bytes: Uint8Array): JpegMarkers {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let frame = { width: 0, height: 0, components: 0 };
  let scans = 0;
  for (let at = bytes.indexOf(0xff); at >= 0; at = bytes.indexOf(0xff, at)) {
    while (bytes[at] === 0xff) at++;
    const marker = bytes[at++] ?? 0;
    if (marker === endOfImage) return { ...frame, scans, isComplete: true };
    if (marker === 0 || isBare(marker)) continue;
    if (at + 2 > bytes.length) break;
    const isFrame = marker >= startOfFrame && marker <= lastStartOfFrame && !tables.includes(marker);
    if (isFrame && at + 8 <= bytes.length)
      frame = { height: view.getUint16(at + 3), width: view.getUint16(at + 5), components: view.getUint8(at + 7) };
    if (marker === startOfScan) scans++;
    at += view.getUint16(at);
  }
  return { ...frame, scans, isComplete: false };
}
