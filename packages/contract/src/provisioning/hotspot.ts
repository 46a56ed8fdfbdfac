// The name of a device's provisioning hotspot, and what a phone's camera reads to join it.

/** Longest name of a WiFi network, in bytes. */
const ssidBytes = 32;
const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

/** @param of - `ssid`: set in the configuration, or empty. @returns `wanted`: the name before it was cut to what a WiFi network can have. */
export function ssidOfHotspot(of: { ssid: string; prefix: string; hostname: string }): {
  ssid: string;
  wanted: string;
} {
  const wanted = of.ssid || `${of.prefix}-${of.hostname}`;
  let ssid = wanted;
  while (bytesOf(ssid) > ssidBytes) ssid = Array.from(ssid).slice(0, -1).join('');
  return { ssid, wanted };
}

/** Whether a WiFi network can have this name and this WPA2 password. */
export const isHotspot = (ssid: string, password: string): boolean =>
  ssid !== '' && bytesOf(ssid) <= ssidBytes && /^[\x20-\x7e]{8,63}$/.test(password);

/** Text of a QR code by which a phone joins a WPA2 network. These characters have a meaning in it. */
export const wifiQrText = (ssid: string, password: string): string =>
  `WIFI:T:WPA;S:${escaped(ssid)};P:${escaped(password)};;`;

const escaped = (text: string): string => text.replaceAll(/[\\;,:"]/g, '\\$&');
