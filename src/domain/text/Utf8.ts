// The dashboard evaluates drafts of flags in the browser, which has no Buffer.
const inNode = typeof Buffer !== "undefined"

/** The UTF-8 bytes of a text, as a string with a character for each. */
export const byteString = (text: string): string =>
  inNode
    ? Buffer.from(text, "utf8").toString("latin1")
    : Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join("")

/** The number of UTF-8 bytes of a text. */
export const utf8Length = (text: string): number =>
  inNode ? Buffer.byteLength(text, "utf8") : new TextEncoder().encode(text).length

/** A header's value, which clients write in UTF-8 and Node reads as Latin-1, one character a byte. */
export const fromLatin1 = (value: string) => Buffer.from(value, "latin1").toString("utf8")
