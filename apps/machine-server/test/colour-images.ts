import sharp from 'sharp';

/** Synthetic images: large coloured patches that a model of three colours can distinguish. */
export const colours = {
  red: { r: 220, g: 30, b: 40 },
  green: { r: 40, g: 200, b: 60 },
  blue: { r: 30, g: 50, b: 230 },
} as const;
export type Colour = keyof typeof colours;

/** Creates an image mostly of one colour, with a patch of another colour, and with noise that makes resizing matter. */
export async function colourImage(
  colour: Colour,
  { width = 120, height = 90, format = 'jpeg', seed = 1 } = {},
): Promise<Buffer> {
  const rgb = Buffer.alloc(width * height * 3);
  const other = colours[colour === 'red' ? 'blue' : 'red'];
  let noise = seed;
  for (let i = 0; i < width * height; i++) {
    const [x, y] = [i % width, Math.floor(i / width)];
    const { r, g, b } = x < width / 3 && y < height / 3 ? other : colours[colour];
    noise = (Math.imul(noise, 1_103_515_245) + 12_345) >>> 0;
    const shade = ((noise >>> 16) % 40) - 20;
    for (const [at, value] of [r, g, b].entries()) rgb[i * 3 + at] = Math.max(0, Math.min(255, value + shade));
  }
  const image = sharp(rgb, { raw: { width, height, channels: 3 } });
  return format === 'jpeg' ? image.jpeg({ quality: 92 }).toBuffer() : image.png().toBuffer();
}
