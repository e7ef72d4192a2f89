import { domainToASCII } from "node:url"

/** An e-mail address: how it is written, and the form by which accounts are found. */
export interface Address {
  readonly value: string
  /** The form for look-ups, which is equal for all spellings of one address. */
  readonly lookup: string
}

/** A part excludes characters that a mail server could read as a list, a comment, a quoted part or a header. */
const part = String.raw`[^\s@,;:<>()\[\]"\\\p{C}]+`
const pattern = new RegExp(`^${part}@${part}$`, "u")
/** RFC 5321 4.5.3.1.3, without the angle brackets. */
const maxLength = 254

const label = "(?!-)[a-z0-9_-]{1,63}(?<!-)"
const domainPattern = new RegExp(`^(?:${label}\\.)*${label}$`)
const local = /^(?!\.)(?!.*\.\.)(?!.*\.$).{1,64}$/u

/** Whether a mail can reach it (RFC 5321 4.1.2, 4.5.3.1.1; RFC 1035 2.3.1). Asked of new addresses: accounts with others exist. */
export const isReachable = ({ lookup }: Address): boolean => {
  const at = lookup.indexOf("@")
  return local.test(lookup.slice(0, at)) && domainPattern.test(lookup.slice(at + 1))
}

/**
 * Reads an e-mail address; undefined when the text is not an address. `ANN@example.com`, full-width letters, a final dot and spaces around
 * it are the same address: otherwise a look-alike could be registered next to it.
 */
export const readAddress = (text: string): Address | undefined => {
  if (text.length > maxLength || !text.isWellFormed()) return undefined
  const value = text.normalize("NFKC").trim().replace(/\.+$/, "")
  if (value.length > maxLength || !pattern.test(value)) return undefined
  const at = value.indexOf("@")
  const domain = domainToASCII(value.slice(at + 1))
  return domain === "" ? undefined : { value, lookup: `${value.slice(0, at).toLowerCase()}@${domain}` }
}

const asciiLower = (text: string) => text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())

/** Whether two spellings are of one mailbox. Those that only look alike have the same `lookup`, but may be the mailboxes of two people. */
export const isSameMailbox = (one: string, other: string): boolean => asciiLower(one) === asciiLower(other)
