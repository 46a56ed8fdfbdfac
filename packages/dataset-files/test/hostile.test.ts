// Malicious and broken annotations.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ImportFormat } from '../src/formats.ts';
import { coco, object, read, voc } from './text-folders.ts';

const bomb = `<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa">${['b', 'c', 'd', 'e', 'f', 'g', 'h'].map((one, at) => `<!ENTITY ${one} "${`&${'abcdefg'[at]};`.repeat(10)}">`).join('')}]>`;

const yolo = (line: string, names = 'names: [cup]') => ({ 'data.yaml': names, 'a.jpg': '', 'a.txt': line });

const deep = `${'<annotation>'.repeat(40)}${'</annotation>'.repeat(40)}`;

const hostile: [name: string, files: Record<string, string>, pattern: RegExp, format?: ImportFormat][] = [
  [
    'YOLO: a class without a name',
    yolo('0 0.5 0.5 1 1\n1 0.5 0.5 1 1'),
    /class 1 has no name.* 1 classes.*a\.txt: line 2/,
  ],
  ['YOLO: a negative class', yolo('-1 0.5 0.5 1 1'), /class -1.*a\.txt: line 1/],
  ['YOLO: half a class', yolo('0.5 0.5 0.5 1 1'), /class number/],
  ['YOLO: NaN', yolo('0 nan 0.5 1 1'), /a\.txt: line 1/],
  ['YOLO: infinite', yolo('0 Infinity 0.5 1 1'), /a\.txt: line 1/],
  ['YOLO: pixels', yolo('0 320 240 100 80'), /look like pixels/],
  ['YOLO: three numbers', yolo('0 0.5 0.5 1'), /class number/],
  ['YOLO: an outline with half a corner', yolo('0 0.1 0.1 0.2 0.2 0.3 0.3 0.4'), /pairs/],
  ['YOLO: words', yolo('cup 0.5 0.5 1 1'), /class number/],
  ['YOLO: names of no class', yolo('', 'names: {}'), /names has no class/],
  ['YOLO: a name that is a list', yolo('', 'names: [[a]]'), /list of texts/],
  ['YOLO: broken YAML', yolo('', 'names: [a\nb: }'), /not YAML.*data\.yaml/],
  ['YOLO: a program in YAML', yolo('', 'names: !!js/function "function () { return 1 }"'), /not YAML/],
  ['VOC: entities that grow', { 'a.xml': `${bomb}<annotation>&h;</annotation>`, 'a.jpg': '' }, /DOCTYPE/],
  [
    'VOC: a file of this host',
    { 'a.xml': `<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]>${voc('&f;')}`, 'a.jpg': '' },
    /DOCTYPE/,
  ],
  ['VOC: an unknown entity', { 'a.xml': voc('&f;'), 'a.jpg': '' }, /not XML/],
  ['VOC: broken XML', { 'a.xml': '<annotation><object>', 'a.jpg': '' }, /not XML.*a\.xml/],
  ['VOC: very deep XML', { 'a.xml': deep, 'a.jpg': '' }, /32 deep/],
  ['VOC: a box of words', { 'a.xml': voc('a.jpg', object('cup').replace('20', 'left')), 'a.jpg': '' }, /object 1/],
  ['VOC: NaN', { 'a.xml': voc('a.jpg', object('cup').replace('20', 'NaN')), 'a.jpg': '' }, /object 1/],
  ['VOC: no name', { 'a.xml': voc('a.jpg', object('')), 'a.jpg': '' }, /object 1/],
  [
    'VOC: a wrong encoding',
    { 'a.xml': `<?xml version="1.0" encoding="klingon"?>${voc('a.jpg')}`, 'a.jpg': '' },
    /encoding klingon is not known/,
  ],
  [
    'COCO: a box of null',
    { 'a.json': coco(['a.jpg']).replace('[20', '[null'), 'a.jpg': '' },
    /bbox \[null,10,80,50\] is not/,
  ],
  [
    'COCO: a category that is not there',
    { 'a.json': coco(['a.jpg']).replace('"id":3', '"id":4'), 'a.jpg': '' },
    /category_id 3/,
  ],
  [
    'COCO: an image that is not there',
    { 'a.json': coco(['a.jpg']).replace('"image_id":0', '"image_id":9'), 'a.jpg': '' },
    /image_id 9/,
  ],
  [
    'COCO: a label of 300 characters',
    { 'a.json': coco(['a.jpg']).replace('cup', 'x'.repeat(300)), 'a.jpg': '' },
    /at most 128 characters/,
  ],
  ['CSV: a quote without an end', { 'a.csv': 'filename,class\n"a.jpg,cup\n', 'a.jpg': '' }, /[Qq]uote.*a\.csv/, 'csv'],
  [
    'CSV: edges of words',
    { 'a.csv': 'filename,class,xmin,ymin,xmax,ymax\na.jpg,cup,left,0,1,1\n', 'a.jpg': '' },
    /not four numbers: a\.csv: row 2/,
  ],
  [
    'CSV: a mark that is neither 0 nor 1',
    { 'a.csv': 'filename,cup\na.jpg,1\na.jpg,2\n', 'a.jpg': '' },
    /column cup must be 0 or 1, not 2: a\.csv: row 3/,
  ],
  [
    'JSON lines: no image',
    { 'dataset.jsonl': '{"image_path":"a.jpg"}\n{}\n', 'a.jpg': '' },
    /image_path: dataset\.jsonl: line 2/,
  ],
];

for (const [name, files, pattern, format] of hostile)
  test(`invalid by its place: ${name}`, async () => {
    const { groups } = await read(files, format);
    assert.match(groups.filter((group) => group.startsWith('invalid')).join('\n'), pattern);
  });
