/** A key as stored: its UTF-8 bytes. */
export const encodeKey = (key: string): Buffer => Buffer.from(key, "utf8")

export const decodeKey = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8")

/** Above every key: no byte of UTF-8 is 0xff. */
const beyondAll = Buffer.from([0xff])

/** The first bytes, in order, that are above all that begin with these (UTF-8: the last byte is never 0xff). */
export const afterPrefix = (prefix: Buffer): Buffer => {
  if (prefix.length === 0) return beyondAll
  const next = Buffer.from(prefix)
  next[next.length - 1] = (next[next.length - 1] ?? 0) + 1
  return next
}

/** The first bytes, in order, that are above these. */
export const afterKey = (key: Buffer): Buffer => Buffer.concat([key, Buffer.from([0])])
