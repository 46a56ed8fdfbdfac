/** Below the root. */
export const socketFile = 'state/control.sock';
