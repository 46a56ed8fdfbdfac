// Tags with a meaning of their own: `split:` puts an image into a split, `group:` keeps images together. A tag that is
// nearly one of them would silently become a label.
import { splits } from './job.ts';

const choices = splits.map((split) => `split:${split}`);
const listed = `${choices.slice(0, -1).join(', ')} or ${choices.at(-1)}`;

/** Words of other tools for the splits. */
const synonyms: Readonly<Record<string, string>> = {
  training: 'train',
  trained: 'train',
  val: 'validation',
  valid: 'validation',
  validate: 'validation',
  dev: 'validation',
  testing: 'test',
  tests: 'test',
};

const wordsBefore: Readonly<Record<string, 'split' | 'group'>> = {
  split: 'split',
  splits: 'split',
  spilt: 'split',
  splt: 'split',
  group: 'group',
  groups: 'group',
  gruop: 'group',
  grup: 'group',
};

/** Why a tag is nearly a `split:` or `group:` tag, and what was probably meant; undefined: it is one, or a label. */
export function tagWordProblem(tag: string): string | undefined {
  // NFKC makes the wide colon of Chinese and Japanese keyboards the usual one.
  const [before = '', ...rest] = tag.normalize('NFKC').split(':');
  const after = rest.join(':').trim();
  const word = rest.length === 0 ? undefined : wordsBefore[before.trim().toLowerCase()];
  if (word === 'group') {
    if (tag.startsWith('group:') && after !== '') return undefined;
    return after === ''
      ? 'group: needs a name after it, such as group:left'
      : `write group:${after} to keep the images of a group together`;
  }
  if (word !== 'split' || choices.includes(tag)) return undefined;
  const value = after.toLowerCase();
  const split = splits.find((one) => one === value) ?? synonyms[value];
  return split === undefined ? `a split is ${listed}` : `write split:${split}; a split is ${listed}`;
}
