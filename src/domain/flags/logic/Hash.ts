import MurmurHash3 from "imurmurhash"

// oxlint-disable-next-line no-control-regex -- all of ASCII is meant
const ascii = /^[\u0000-\u007f]*$/

/** MurmurHash3 (x86, 32 bits, seed 0) of bytes that are given one a character: 0 to 4,294,967,295. */
export const hashBytes = (latin1: string): number => MurmurHash3(latin1, 0).result()

/** The same of a text's UTF-8. */
export const hashText = (text: string): number =>
  hashBytes(ascii.test(text) ? text : Buffer.from(text, "utf8").toString("latin1"))
