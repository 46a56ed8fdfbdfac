/**
 * A shell command that prints the install script. If the server has a private CA, the command contains its hash: it
 * downloads the CA certificate unverified, and uses it only if the hash matches. It uses braces, because `$((` starts
 * an arithmetic expansion.
 */
export const installScriptCommand = (url: string, authoritySha256: string | undefined): string =>
  authoritySha256 === undefined || !url.startsWith('https:')
    ? `curl -fsSL ${url}/install.sh`
    : `{ c=$(mktemp) && curl -fsSk -o $c ${url}/authority.pem && echo "${authoritySha256}  $c" | sha256sum -c - >&2 && curl -fsS --cacert $c ${url}/install.sh; }`;

/**
 * Commands for PowerShell that download this agent, compare its hash, and install it. The page that shows them vouches
 * for the hash, so the connection need not: Windows does not know a private CA.
 *
 * @param url - of the file. @param sha256 - of the file, hex.
 */
export const windowsInstallCommand = ({ url, sha256 }: { url: string; sha256: string }): string =>
  [
    '$f = "$env:TEMP\\platform-agent.exe"',
    `curl.exe -fsSkL -o $f ${url}`,
    `if ((Get-FileHash $f).Hash -ne '${sha256}') { throw 'This is not the file that the page named.' }`,
    '& $f install',
  ].join('; ');
