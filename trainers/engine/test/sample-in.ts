import assert from 'node:assert/strict';

/** The program in the text of a model card. */
export function sampleIn(card: string): string {
  const [, program] = /```python\n([^]*?)```/.exec(card) ?? [];
  assert.ok(program !== undefined, 'the model card has no program');
  return program;
}
