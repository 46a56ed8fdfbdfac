// The two pages of the sign-in link. They need no script and no file of the web app.

/** Nothing is loaded; the form goes to this server. */
export const signInPolicy = [
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

const escaped = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => `&#${character.codePointAt(0) ?? 0};`);

const style = `:root{color-scheme:light dark;--page:#f6f7f9;--card:#fff;--line:#d9dde3;--text:#1a1d21;--soft:#5b636e;--accent:#1f5fd0;--on-accent:#fff}
@media (prefers-color-scheme:dark){:root{--page:#14161a;--card:#1c1f24;--line:#343a43;--text:#e8eaed;--soft:#a3abb6;--accent:#7aa7ff;--on-accent:#0d1117}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:grid;place-items:center;padding:16px;background:var(--page);color:var(--text);font:16px/1.5 system-ui,sans-serif}
main{width:100%;max-width:420px;padding:24px;background:var(--card);border:1px solid var(--line);border-radius:10px}
h1{margin:0 0 8px;font-size:20px}
p{margin:0 0 16px;color:var(--soft)}
b{color:var(--text);overflow-wrap:anywhere}
button{width:100%;padding:10px 16px;border:0;border-radius:8px;background:var(--accent);color:var(--on-accent);font:inherit;font-weight:600;cursor:pointer}
button:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
code{display:block;padding:10px 12px;border:1px solid var(--line);border-radius:8px;color:var(--text);font:14px/1.5 ui-monospace,monospace;overflow-wrap:anywhere}`;

const page = (title: string, body: string): string =>
  `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title} – Platform</title><style>${style}</style></head>
<body><main>
<h1>${title}</h1>
${body}
</main></body>
</html>
`;

/** Asks whether to sign in as this user. A link that a program opens, or that another user sent, starts no session. */
export const askPage = (of: { userName: string; host: string; token: string }): string =>
  page(
    'Sign in',
    `<p>You sign in to <b>${escaped(of.host)}</b> as <b>${escaped(of.userName)}</b>. Continue only if you asked for this link.</p>
<form method="post" action="/sign-in"><input type="hidden" name="token" value="${escaped(of.token)}"><button>Sign in</button></form>`,
  );

export const unusablePage = (): string =>
  page(
    'This link does not work',
    `<p>It was used before, or it has expired: each link works once. In the folder of the server, make a new one:</p>
<code>npm run -s platform -- sign-in</code>`,
  );
