/**
 * The script of the portal, in the words of browsers of 2019. It fetches the page again and shows its parts, so the
 * server alone makes HTML. The page stays open while the hotspot is off, and shows the result when the phone is back.
 */
export const script = `'use strict';
(() => {
  const main = () => document.querySelector('main');
  const part = (id, from) => (from || document).getElementById(id);
  let failures = 0;
  let busy = false;
  let activeAt = 0;

  async function ask(path, options) {
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(), path === '/save' ? 100000 : 5000);
    try {
      const answer = await fetch(path, Object.assign({ cache: 'no-store', signal: stop.signal }, options));
      return new DOMParser().parseFromString(await answer.text(), 'text/html');
    } finally {
      clearTimeout(timer);
    }
  }

  function show(fresh) {
    const next = fresh.querySelector('main');
    if (!next) return;
    if (next.dataset.at !== main().dataset.at) {
      main().replaceWith(next);
      prepare();
      return;
    }
    const picked = document.querySelector('input[name=pick]:checked');
    const token = document.querySelector('input[name=token]');
    const freshToken = next.querySelector('input[name=token]');
    if (token && freshToken) token.value = freshToken.value;
    for (const id of ['status', 'networks']) {
      const [old, now] = [part(id), part(id, fresh)];
      if (old && now && old.innerHTML !== now.innerHTML) {
        const focused = old.contains(document.activeElement) ? document.activeElement.value : undefined;
        old.replaceChildren(...now.childNodes);
        for (const input of old.querySelectorAll('input')) {
          if (picked && input.value === picked.value) input.checked = true;
          if (input.value === focused) input.focus();
        }
      }
    }
  }

  function away(isAway) {
    failures = isAway ? failures + 1 : 0;
    const note = part('away');
    if (note) note.hidden = failures < 2;
  }

  async function poll() {
    if (!busy && !document.hidden) {
      try {
        show(await ask('/'));
        away(false);
      } catch {
        away(true);
      }
    }
    setTimeout(poll, 3000);
  }

  function prepare() {
    document.documentElement.classList.add('script');
    const toggle = part('show');
    if (toggle) toggle.hidden = false;
  }

  const form = () => document.querySelector('form');
  const fields = () => new URLSearchParams(new FormData(form()));

  document.addEventListener('click', (event) => {
    if (event.target.id !== 'show') return;
    const password = part('password');
    const isShown = password.type === 'text';
    password.type = isShown ? 'password' : 'text';
    event.target.textContent = isShown ? 'Show' : 'Hide';
    event.target.setAttribute('aria-pressed', String(!isShown));
  });

  document.addEventListener('input', (event) => {
    if (event.target.name === 'ssid') part('other').checked = true;
    if (!form() || Date.now() - activeAt < 20000) return;
    activeAt = Date.now();
    const token = document.querySelector('input[name=token]').value;
    fetch('/active', { method: 'POST', body: new URLSearchParams({ token }) }).catch(() => {});
  });

  document.addEventListener('submit', async (event) => {
    event.preventDefault();
    const button = form().querySelector('button[type=submit]');
    busy = true;
    button.disabled = true;
    try {
      show(await ask('/save', { method: 'POST', body: fields() }));
      window.scrollTo(0, 0);
    } catch {
      away(true);
    }
    busy = false;
    button.disabled = false;
  });

  prepare();
  setTimeout(poll, 3000);
})();
`;
