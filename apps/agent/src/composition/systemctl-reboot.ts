import { system } from './system.ts';

/** @throws Error with the output of systemctl */
export async function reboot(): Promise<void> {
  const { code, text } = await system.run('systemctl', 'reboot');
  if (code !== 0) throw new Error(`systemctl reboot failed: ${text.slice(0, 200)}`);
}
