import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { plainEnvironment } from '../../packages/kit/src/node/environment.ts';

/** A built agent. */
export interface MsiOf {
  readonly file: string;
  readonly version: string;
  readonly platform: string;
}

/** Why no package can be made. */
export class NoMsi extends Error {}

/** Ties all versions together: Windows replaces an installed one by another. It never changes. */
const upgradeCode = 'C3B7B5F0-54E2-4D4E-9D0E-6B0B7B6E2B57';
const componentId = '6D1F0C62-2B58-4F34-8E0D-0F6B0C7C9E11';

/** Windows compares three numbers; the first two are at most 255. */
function msiVersion(version: string): string {
  const numbers = /^(\d+)\.(\d+)\.(\d+)$/.exec(version)?.slice(1).map(Number);
  const [major = 0, minor = 0, patch = 0] = numbers ?? [];
  if (!numbers || major > 255 || minor > 255 || patch > 65_535) {
    throw new NoMsi(
      `A package of Windows has a version of three numbers, the first two at most 255, the third at most 65535: ${version} does not fit.`,
    );
  }
  return version;
}

/** An identifier that follows from the text. */
function guidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex').toUpperCase();
  return [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  );
}

/**
 * The agent installs itself once, and updates itself from then on: an upgrade of the package replaces the package's own
 * file only. Credentials survive a removal, as with the package for Debian. (InstallFiles has the sequence number 4000,
 * RemoveFiles 3500. wixl puts an action that is to follow one of them to the end.)
 */
const source = (version: string, hash: string): string => `<?xml version="1.0" encoding="utf-8"?>
<Wix xmlns="http://schemas.microsoft.com/wix/2006/wi">
  <Product Id="${guidOf(`product ${version} ${hash}`)}" Name="Platform agent" Language="1033" Version="${version}"
    Manufacturer="The Platform authors" UpgradeCode="${upgradeCode}">
    <Package InstallerVersion="500" Compressed="yes"
      InstallScope="perMachine" Platform="x64" Description="Platform agent ${version}" />
    <MajorUpgrade DowngradeErrorMessage="A newer version of Platform agent is installed." />
    <Media Id="1" Cabinet="agent.cab" EmbedCab="yes" />
    <Directory Id="TARGETDIR" Name="SourceDir">
      <Directory Id="ProgramFiles64Folder">
        <Directory Id="INSTALLDIR" Name="Platform agent">
          <Component Id="Agent" Guid="${componentId}" Win64="yes">
            <File Id="AgentProgram" Name="platform-agent.exe" Source="platform-agent.exe" KeyPath="yes" />
          </Component>
        </Directory>
      </Directory>
    </Directory>
    <Feature Id="Main" Level="1">
      <ComponentRef Id="Agent" />
    </Feature>
    <CustomAction Id="InstallAgent" FileKey="AgentProgram" ExeCommand="install --no-credentials"
      Execute="deferred" Impersonate="no" Return="check" />
    <CustomAction Id="RemoveAgent" FileKey="AgentProgram" ExeCommand="uninstall --yes --keep-credentials"
      Execute="deferred" Impersonate="no" Return="ignore" />
    <InstallExecuteSequence>
      <Custom Action="InstallAgent" Sequence="4001">NOT Installed AND NOT WIX_UPGRADE_DETECTED</Custom>
      <Custom Action="RemoveAgent" Sequence="3499">REMOVE="ALL" AND NOT UPGRADINGPRODUCTCODE</Custom>
    </InstallExecuteSequence>
  </Product>
</Wix>
`;

/**
 * Makes `platform-agent-<version>-windows-amd64.msi` with wixl.
 *
 * @returns the file.
 * @throws NoMsi
 */
export function makeMsi({ file, version, platform }: MsiOf, sha256: string, out: string): string {
  if (platform !== 'windows/amd64') throw new NoMsi(`There is no package of Windows for ${platform}.`);
  const numbers = msiVersion(version);
  mkdirSync(out, { recursive: true });
  const folder = mkdtempSync(path.join(out, '.msi-'));
  try {
    const program = path.join(folder, 'platform-agent.exe');
    copyFileSync(file, program);
    utimesSync(program, builtAt, builtAt);
    writeFileSync(path.join(folder, 'agent.wxs'), source(numbers, sha256));
    const target = path.join(out, `platform-agent-${version}-windows-amd64.msi`);
    const done = spawnSync('wixl', ['--arch', 'x64', '--output', target, 'agent.wxs'], {
      cwd: folder,
      encoding: 'utf8',
      env: plainEnvironment({ SOURCE_DATE_EPOCH: String(builtAt), TZ: 'UTC' }),
    });
    if (done.error && 'code' in done.error && done.error.code === 'ENOENT')
      throw new NoMsi('The program wixl is missing. Install it: apt install wixl');
    if (done.status !== 0) throw new Error(`wixl ended with ${done.status ?? done.signal}:\n${done.stderr}`);
    settle(target, guidOf(`package ${version} ${sha256}`));
    return target;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Tags of the summary's properties: a text of 38 characters and its end, and a time. */
const [textTag, timeTag] = [Buffer.from('1e00000027000000', 'hex'), Buffer.from('40000000', 'hex')];
const idLength = 38;

/**
 * wixl writes a random package id and the present time. Both are replaced: the same agent gives the same bytes.
 *
 * @throws Error if they are not where wixl 0.101 writes them
 */
function settle(file: string, id: string): void {
  const bytes = readFileSync(file);
  const isId = (at: number): boolean =>
    /^\{[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}\}$/.test(bytes.toString('latin1', at, at + idLength));
  let at = bytes.indexOf(textTag);
  while (at >= 0 && !isId(at + textTag.length)) at = bytes.indexOf(textTag, at + 1);
  if (at < 0) throw new Error('the package has no id');
  const idAt = at + textTag.length;
  bytes.write(`{${id}}`, idAt, 'latin1');
  for (let time = idAt + idLength + 2; time < idAt + idLength + 2 + 24; time += 12) {
    if (!bytes.subarray(time, time + 4).equals(timeTag)) throw new Error('the package has no time');
    // In 100 ns since 1601.
    bytes.writeBigUInt64LE((BigInt(builtAt) + 11_644_473_600n) * 10_000_000n, time + 4);
  }
  writeFileSync(file, bytes);
}

/** Time of the file in the package, seconds since 1970: 2000-01-01. */
const builtAt = 946_684_800;
