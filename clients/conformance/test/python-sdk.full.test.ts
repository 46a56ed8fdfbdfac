// The public SDK for Python, unmodified, against the real server and runner.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Place, pytest, startPlace, storyFolder } from '../python/environment.ts';
import { startProvisioning } from '../src/provisioning-process.ts';

describe('the unmodified public Python SDK', () => {
  let place: Place;
  before(async () => {
    place = await startPlace();
  });
  after(async () => {
    await place[Symbol.asyncDispose]();
  });

  test('has messages, enums and calls of the same shape', async () => {
    assert.ok((await pytest(['test_public_types.py'], {}, storyFolder)) >= 15);
  });

  test('lives through the whole story', async () => {
    const files = ['test_public_data.py', 'test_public_sequences.py', 'test_public_training.py'];
    assert.ok((await pytest(files, place.env, storyFolder)) >= 15);
  });
});

test('the unmodified public Python SDK provisions a device', async () => {
  await using device = await startProvisioning();
  assert.equal(await pytest(['test_public_provisioning.py'], { PROVISIONING_PORT: `${device.port}` }, storyFolder), 1);
  const credentials = '{"cloud":{"app_address":"https://cloud.example:443","id":"part","secret":"hush"}}';
  assert.deepEqual(await device.end(), [{ wifi: { ssid: 'Café ☕', psk: '', isHidden: false }, credentials }]);
});
