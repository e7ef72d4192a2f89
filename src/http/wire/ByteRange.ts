import { type ByteRange } from "../../services/ports/BackupFiles.ts"

/**
 * What a `Range` header asks of so many bytes (RFC 9110 14.1.2): undefined for all of it, also where the header is none
 * that we know or asks for several; `outside` when nothing of it is there.
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
