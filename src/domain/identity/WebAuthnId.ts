/** Longest credential id in bytes (WebAuthn 3, 4: Credential ID). */
const longest = 1023

const decoded = (text: string, encoding: "hex" | "base64url") => {
  const bytes = new Uint8Array(Buffer.from(text, encoding))
  return bytes.length > 0 && bytes.length <= longest ? [bytes] : []
}

/**
 * What bytes a credential id may mean: browsers write base64url, the idp base64 in one place and hex in another. Text
 * that could be both is far more likely hex, so that comes first; empty when it is none of them.
 */
export const webAuthnIds = (text: string): ReadonlyArray<Uint8Array> => [
  ...(/^(?:[\da-f]{2})+$/i.test(text) ? decoded(text, "hex") : []),
  ...(/^[\w+/-]+={0,2}$/.test(text) ? decoded(text, "base64url") : [])
]
