import { type ByteRange } from "../../services/ports/BackupFiles.ts"

/**
 * The range that a `Range` header requests of `size` bytes (RFC 9110 14.1.2). Undefined for the whole: without a header,
 * and with an invalid one, another unit or several ranges. `outside` if the range is not satisfiable.
 */
export const parseRange = (header: string | undefined, size: number): ByteRange | "outside" | undefined => {
  const match = /^bytes=(?:(\d{1,15})-(\d{0,15})|-(\d{1,15}))$/i.exec(header?.trim() ?? "")
  if (match === null) return undefined
  const [, from, to, last] = match
  if (last !== undefined) {
    return Number(last) === 0 || size === 0 ? "outside" : { first: Math.max(0, size - Number(last)), last: size - 1 }
  }
  const first = Number(from)
  const end = to === undefined || to === "" ? size - 1 : Number(to)
  if (to !== undefined && to !== "" && end < first) return undefined
  return first >= size ? "outside" : { first, last: Math.min(end, size - 1) }
}
