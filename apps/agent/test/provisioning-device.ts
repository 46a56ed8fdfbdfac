import type { ProvisioningView } from '../src/network/endpoints/provisioning-view.ts';

/** What a new device shows that once failed to join "barn". */
export const provisioningView: ProvisioningView = {
  manufacturer: 'Example Robotics',
  model: 'Rover 2',
  fragmentId: '2a7d8f0e-1b4c-4f6a-9c3d-5e6f7a8b9c0d',
  hostname: 'rover',
  agentVersion: '0.1.0',
  hasCredentials: false,
  isOnline: false,
  at: 'waiting',
  networks: [
    { ssid: 'barn', security: 'wpa-psk', signalPercent: 80 },
    { ssid: 'Café ☕', security: 'open', signalPercent: 55 },
    { ssid: 'office', security: 'wpa-eap', signalPercent: 10 },
  ],
  connectedTo: '',
  lastAttempt: {
    ssid: 'barn',
    result: 'wrong-password',
    text: 'The password of barn is wrong.',
    wall: 1_767_225_600_000,
  },
};
