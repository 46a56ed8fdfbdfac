import type { Picture } from './picture.ts';

/** Output sample i is the sum of `weights[i][k] * input[first[i] + k]`. */
interface Taps {
  readonly first: readonly number[];
  readonly weights: readonly Float32Array[];
}

const lobes = 3;

/**
 * Scales to `width` × `height` pixels whatever the shape of `picture` ("fill"), with a Lanczos kernel as wide as the
 * reduction: what trainers see of a picture is what a model sees of it here.
 */
export function resize(picture: Picture, width: number, height: number): Picture {
  if (picture.width === width && picture.height === height) return picture;
  const across = taps(picture.width, width);
  const down = taps(picture.height, height);
  const rows = new Float32Array(picture.height * width * 3);
  for (let y = 0, to = 0; y < picture.height; y++) {
    for (let x = 0; x < width; x++) {
      const weights = across.weights[x]!;
      let from = (y * picture.width + across.first[x]!) * 3;
      let r = 0;
      let g = 0;
      let b = 0;
      for (let k = 0; k < weights.length; k++) {
        const weight = weights[k]!;
        r += weight * picture.rgb[from++]!;
        g += weight * picture.rgb[from++]!;
        b += weight * picture.rgb[from++]!;
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

function taps(from: number, to: number): Taps {
  const scale = from / to;
  const stretch = Math.max(1, scale);
  const reach = lobes * stretch;
  const first: number[] = [];
  const weights: Float32Array[] = [];
  for (let i = 0; i < to; i++) {
    const center = (i + 0.5) * scale - 0.5;
    const low = Math.max(0, Math.ceil(center - reach));
    const high = Math.min(from - 1, Math.floor(center + reach));
    const row = Float32Array.from({ length: high - low + 1 }, (_, k) => lanczos((low + k - center) / stretch));
    const sum = row.reduce((a, b) => a + b, 0);
    first.push(low);
    weights.push(row.map((weight) => weight / sum));
  }
  return { first, weights };
}

function lanczos(x: number): number {
  if (x === 0) return 1;
  if (Math.abs(x) >= lobes) return 0;
  const angle = Math.PI * x;
  return (lobes * Math.sin(angle) * Math.sin(angle / lobes)) / (angle * angle);
}
