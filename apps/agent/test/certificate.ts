// A self-signed certificate with dates of one's choice.
import { generateKeyPairSync, sign } from 'node:crypto';

const der = (tag: number, ...content: Uint8Array[]): Buffer => {
  const body = Buffer.concat(content);
  const [high, low] = [body.length >> 8, body.length & 0xff];
  const length = high > 0 ? [0x82, high, low] : low > 127 ? [0x81, low] : [low];
  return Buffer.concat([Buffer.from([tag, ...length]), body]);
};
const sequence = (...content: Uint8Array[]): Buffer => der(0x30, ...content);
const oid = (...bytes: number[]): Buffer => der(0x06, Buffer.from(bytes));
/** UTCTime: until 2049. */
const time = (ms: number): Buffer =>
  der(
    0x17,
    Buffer.from(
      new Date(ms)
        .toISOString()
        .slice(2)
        .replaceAll(/[-:T]|\.\d+/g, ''),
    ),
  );
const ecdsaSha256 = sequence(oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));

/** For localhost and 127.0.0.1; dates in ms since 1970. */
export function certificate(from: number, to: number): { key: string; cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = sequence(der(0x31, sequence(oid(0x55, 0x04, 0x03), der(0x0c, Buffer.from('localhost')))));
  const alternatives = sequence(der(0x82, Buffer.from('localhost')), der(0x87, Buffer.from([127, 0, 0, 1])));
  const isAuthority = sequence(der(0x01, Buffer.from([0xff])));
  const extensions = sequence(
    sequence(oid(0x55, 0x1d, 0x11), der(0x04, alternatives)),
    sequence(oid(0x55, 0x1d, 0x13), der(0x04, isAuthority)),
  );
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    ecdsaSha256,
    name,
    sequence(time(from), time(to)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, extensions),
  );
  const signature = sign('sha256', body, privateKey);
  const whole = sequence(body, ecdsaSha256, der(0x03, Buffer.from([0]), signature));
  const pem = whole.toString('base64').replaceAll(/.{64}/g, '$&\n');
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    cert: `-----BEGIN CERTIFICATE-----\n${pem}\n-----END CERTIFICATE-----\n`,
  };
}
