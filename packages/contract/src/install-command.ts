/**
 * A shell command that prints the install script. Where the machine does not know the authority of the server, the command names
 * its hash: the certificate is fetched unverified, and used only if it is the named one. Braces, because `$((` begins arithmetic.
 */
export const installScriptCommand = (url: string, authoritySha256: string | undefined): string =>
  authoritySha256 === undefined || !url.startsWith('https:')
    ? `curl -fsSL ${url}/install.sh`
    : `{ c=$(mktemp) && curl -fsSk -o $c ${url}/authority.pem && echo "${authoritySha256}  $c" | sha256sum -c - >&2 && curl -fsS --cacert $c ${url}/install.sh; }`;
