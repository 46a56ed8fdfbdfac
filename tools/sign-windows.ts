// Signs programs and packages for Windows (Authenticode), in place:
//   node tools/sign-windows.ts FILE … --certificates PEM --key PEM [--timestamp URL]
//   node tools/sign-windows.ts FILE … --certificates PEM --key PKCS11-URI --pkcs11-module LIBRARY [--timestamp URL]
//   node tools/sign-windows.ts FILE … --verify AUTHORITY.pem
// Sign the .exe first, then make the .msi of it (tools/msi.ts) and sign that. Publish afterwards: the hash changes.
import { parseArgs } from 'node:util';
import { NotSigned, signForWindows, verifySignature } from './release/authenticode.ts';

try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      certificates: { type: 'string' },
      key: { type: 'string' },
      'pkcs11-module': { type: 'string' },
      timestamp: { type: 'string' },
      verify: { type: 'string' },
    },
  });
  const { certificates, key, verify, timestamp: timestampUrl, 'pkcs11-module': pkcs11Module } = values;
  if (positionals.length === 0) throw new NotSigned('Say which files: .exe or .msi.');
  for (const file of positionals) {
    if (verify !== undefined) verifySignature(file, verify);
    else if (certificates === undefined || key === undefined)
      throw new NotSigned('Give --certificates and --key, or --verify.');
    else signForWindows(file, { certificates, key, pkcs11Module, timestampUrl });
    process.stdout.write(`${file}: ${verify === undefined ? 'signed' : 'the signature is right'}\n`);
  }
} catch (error) {
  if (!(error instanceof NotSigned)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
