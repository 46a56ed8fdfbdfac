/** The name of a field or variable suggests a secret. */
export const looksSecret = /secret|passw|token|psk|credential|private|(^|_)(pw|pin|key|auth)($|_)|apikey/i;
