import { isUtf8 } from "node:buffer"

/** Text that needs no encoding: printable ASCII with single inner spaces. */
const plain = /^(?:[\x21-\x7e]+(?: [\x21-\x7e]+)*)?$/

/** Bytes per encoded word: 60 base64 characters keep the word within 75 characters (RFC 2047 section 2). */
const wordBytes = 45

/** A text as a header value, in RFC 2047 encoded words if necessary, as S3 encodes user metadata. */
export const encodeWords = (text: string): string => {
  if (plain.test(text) && !text.includes("=?")) return text
  const words: Array<string> = []
  let word = ""
  let bytes = 0
  for (const character of text) {
    const size = Buffer.byteLength(character)
    if (bytes + size > wordBytes) {
      words.push(word)
      word = ""
      bytes = 0
    }
    word += character
    bytes += size
  }
  words.push(word)
  return words.map((part) => `=?UTF-8?B?${Buffer.from(part).toString("base64")}?=`).join(" ")
}

const oneWord = /=\?([\w!#$%&'*+.^`{|}~-]+)\?([BbQq])\?([^?\s]*)\?=/
const runOfWords = new RegExp(`${oneWord.source}(?:\\s+${oneWord.source})*`, "g")

const bytesOf = (encoding: string, text: string): Buffer => {
  if (encoding.toUpperCase() === "B") return Buffer.from(text, "base64")
  const raw = text
    .replaceAll("_", " ")
    .replaceAll(/=([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(raw, "latin1")
}

const decoded = (charset: string, bytes: Uint8Array): string | undefined => {
  try {
    return new TextDecoder(charset, { ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined // unknown charset
  }
}

/** Adjacent words are one text: the bytes of a character may be split between them. */
const decodeRun = (run: string): string => {
  const words = Array.from(run.matchAll(new RegExp(oneWord, "g")))
  const charset = words[0]?.[1] ?? ""
  if (words.some((word) => word[1]?.toLowerCase() !== charset.toLowerCase())) {
    return words.map((word) => decoded(word[1] ?? "", bytesOf(word[2] ?? "", word[3] ?? "")) ?? word[0]).join("")
  }
  return decoded(charset, Buffer.concat(words.map((word) => bytesOf(word[2] ?? "", word[3] ?? "")))) ?? run
}

/** The text of a header value as Node returns it (one character per byte): encoded words or UTF-8 bytes. */
export const decodeWords = (value: string): string => {
  const bytes = Buffer.from(value, "latin1")
  const text = /[\x80-\xff]/.test(value) && isUtf8(bytes) ? bytes.toString("utf8") : value
  return text.replaceAll(runOfWords, decodeRun)
}
