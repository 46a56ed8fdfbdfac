// The captive portal of a device, as the phone on its hotspot uses it.
import { eventually } from './machine.ts';
import type { Phone, PhoneAnswer } from './radio.ts';

/** Any name leads to the device while everything is redirected; this is what phones ask for. */
const probe = 'http://connectivitycheck.gstatic.com/generate_204';

export interface PortalPage {
  /** URL of the page, after redirects. */
  url: string;
  text: string;
  /** Hidden fields of its form, among them the CSRF token. */
  hidden: Readonly<Record<string, string>>;
}

/** Opens the page from a probe, as a phone does, or from a URL that a user types. */
export function openPortal(phone: Phone, seconds = 120, url = probe): Promise<PortalPage> {
  return eventually(`the portal answers ${url}`, seconds, async () => {
    const answer = await phone.get(url).catch(() => undefined); // the portal is not open yet
    if (answer?.status !== 200 || !answer.body.includes('<form')) return undefined;
    return { url: answer.url, text: textOf(answer.body), hidden: hiddenOf(answer.body) };
  });
}

/** Posts the form. The answer comes before the hotspot goes away. */
export function submit(
  phone: Phone,
  page: PortalPage,
  fields: { ssid?: string; password?: string; platformconfig?: string },
): Promise<PhoneAnswer> {
  return phone.post(new URL('/save', page.url).href, { ...page.hidden, ...fields });
}

function hiddenOf(html: string): Record<string, string> {
  const inputs = [...html.matchAll(/<input\b[^>]*>/g)].map(([input]) => input);
  const attribute = (input: string, name: string) => new RegExp(`\\b${name}="([^"]*)"`).exec(input)?.[1];
  return Object.fromEntries(
    inputs
      .filter((input) => attribute(input, 'type') === 'hidden')
      .map((input) => [attribute(input, 'name') ?? '', attribute(input, 'value') ?? '']),
  );
}

/** The visible words. */
const textOf = (html: string): string =>
  html
    .replaceAll(/<(script|style)\b.*?<\/\1>/gs, ' ')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ');
