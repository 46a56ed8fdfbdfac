/**
 * Makes ../sources anew from the three packages that NOTICE.md names, already unpacked:
 *   node src/prepare.ts <folder of stamps> <folder of skimage/data> <folder of templates>
 */
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';

const cutOuts: Record<string, string> = {
  'balloon.png': 'vehicles/flight/balloon360.png',
  'bear.png': 'animals/mammals/bears/european-bear.png',
  'cement-mixer.png': 'household/tools/cementmixer.png',
  'corn.png': 'food/vegetables/corn.png',
  'daffodil.png': 'plants/flowers/daffodil.png',
  'garbage-truck.png': 'vehicles/garbagetruck.png',
  'mushroom.png': 'plants/mushrooms/cep.png',
  'penguin.png': 'animals/birds/magellanic_penguin.png',
  'pigeon.png': 'animals/birds/pigeon.png',
  'rabbit.png': 'animals/mammals/rodents/rabbit-2.png',
};
const photographs: Record<string, string> = {
  'brick.jpg': 'brick.png',
  'cell.jpg': 'cell.png',
  'chelsea.jpg': 'chelsea.png',
  'clock.jpg': 'clock_motion.png',
  'coffee.jpg': 'coffee.png',
  'grass.jpg': 'grass.png',
  'gravel.jpg': 'gravel.png',
  'hubble.jpg': 'hubble_deep_field.jpg',
  'retina.jpg': 'retina.jpg',
  'rocket.jpg': 'rocket.jpg',
};

const backgrounds: Record<string, string> = {
  'cliff.jpg': 'cliff.jpg',
  'clouds.jpg': 'sun_behind_clouds.jpg',
  'leaves.jpg': 'sun_behind_leaves.jpg',
  'meadow.jpg': 'sheep.jpg',
  'mossy-log.jpg': 'mossy_log.jpg',
  'mudstone.jpg': 'mudstone.jpg',
  'pebbles.jpg': 'rocks.jpg',
  'trees.jpg': 'trees_above.jpg',
  'waves.jpg': 'ocean_waves.jpg',
};

const [stamps, photos, templates] = process.argv.slice(2);
if (stamps === undefined || photos === undefined || templates === undefined) {
  throw new Error('usage: node src/prepare.ts <folder of stamps> <folder of skimage/data> <folder of templates>');
}
const target = (folder: string, file: string): string =>
  fileURLToPath(new URL(`../sources/${folder}/${file}`, import.meta.url));

for (const [file, from] of Object.entries(cutOuts)) {
  await sharp(`${stamps}/${from}`)
    .ensureAlpha()
    .trim()
    .resize(320, 320, { fit: 'inside', withoutEnlargement: true })
    .png({ compressionLevel: 9 })
    .toFile(target('cut-outs', file));
}
for (const [folder, files, source] of [
  ['photographs', photographs, photos],
  ['backgrounds', backgrounds, templates],
] as const) {
  for (const [file, from] of Object.entries(files)) {
    await sharp(`${source}/${from}`)
      .resize(480, 480, { fit: 'outside', withoutEnlargement: true })
      .jpeg({ quality: 85 })
      .toFile(target(folder, file));
  }
}
