import type { Image } from './image.ts';

/** Resampling kernel: its radius in pixels of the coarser side, and its weight at a distance. */
interface Kernel {
  readonly reach: number;
  readonly at: (x: number) => number;
}

/** Output sample i is the sum of `weights[i][k] * input[first[i] + k]`. */
interface Taps {
  readonly first: readonly number[];
  readonly weights: readonly Float32Array[];
}

/**
 * Resizes to `width` × `height` pixels without keeping the aspect ratio ("fill"). A model needs the same preprocessing
 * as in training, so this matches libvips. It reduces with Lanczos. If a side grows, it then uses cubic interpolation
 * for both sides, with pixel centres shifted by half a pixel.
 */
export function resize(image: Image, width: number, height: number): Image {
  if (image.width === width && image.height === height) return image;
  const reduced = { width: Math.min(image.width, width), height: Math.min(image.height, height) };
  const small = resample(image, reduced, (from, to) => taps(from, to, lanczos, (i) => ((i + 0.5) * from) / to - 0.5));
  if (small.width === width && small.height === height) return small;
  return resample(small, { width, height }, (from, to) => taps(from, to, cubic, (i) => (i * from) / to - 0.5));
}

function resample(
  image: Image,
  { width, height }: { width: number; height: number },
  tapsOf: (from: number, to: number) => Taps,
): Image {
  const across = tapsOf(image.width, width);
  const down = tapsOf(image.height, height);
  const rows = new Float32Array(image.height * width * 3);
  for (let y = 0, to = 0; y < image.height; y++) {
    for (let x = 0; x < width; x++) {
      const weights = across.weights[x]!;
      let from = (y * image.width + across.first[x]!) * 3;
      let r = 0;
      let g = 0;
      let b = 0;
      for (let k = 0; k < weights.length; k++) {
        const weight = weights[k]!;
        r += weight * image.rgb[from++]!;
        g += weight * image.rgb[from++]!;
        b += weight * image.rgb[from++]!;
      }
      rows[to++] = r;
      rows[to++] = g;
      rows[to++] = b;
    }
  }
  const rgb = new Uint8Array(width * height * 3);
  const stride = width * 3;
  for (let y = 0, to = 0; y < height; y++) {
    const weights = down.weights[y]!;
    const top = down.first[y]! * stride;
    for (let x = 0; x < stride; x++) {
      let sum = 0;
      for (let k = 0; k < weights.length; k++) sum += weights[k]! * rows[top + k * stride + x]!;
      rgb[to++] = Math.max(0, Math.min(255, Math.round(sum)));
    }
  }
  return { width, height, rgb };
}

/** @param center - position of output sample i, in input samples. */
function taps(from: number, to: number, kernel: Kernel, center: (i: number) => number): Taps {
  const stretch = Math.max(1, from / to);
  const reach = kernel.reach * stretch;
  const inside = (at: number): number => Math.max(0, Math.min(at, from - 1));
  const first: number[] = [];
  const weights: Float32Array[] = [];
  for (let i = 0; i < to; i++) {
    const middle = center(i);
    const low = Math.ceil(middle - reach);
    const high = Math.floor(middle + reach);
    const row = new Float32Array(inside(high) - inside(low) + 1);
    let sum = 0;
    for (let at = low; at <= high; at++) {
      const weight = kernel.at((at - middle) / stretch);
      row[inside(at) - inside(low)]! += weight; // samples beyond the edge repeat the edge
      sum += weight;
    }
    first.push(inside(low));
    weights.push(row.map((weight) => weight / sum));
  }
  return { first, weights };
}

const lanczos: Kernel = {
  reach: 3,
  at: (x) => {
    if (x === 0) return 1;
    if (Math.abs(x) >= 3) return 0;
    const angle = Math.PI * x;
    return (3 * Math.sin(angle) * Math.sin(angle / 3)) / (angle * angle);
  },
};

/** Catmull-Rom. */
const cubic: Kernel = {
  reach: 2,
  at: (x) => {
    const d = Math.abs(x);
    if (d >= 2) return 0;
    return d < 1 ? (1.5 * d - 2.5) * d * d + 1 : ((2.5 - 0.5 * d) * d - 4) * d + 2;
  },
};
