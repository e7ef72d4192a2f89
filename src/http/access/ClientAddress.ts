import { Option } from "effect"
import { type HttpServerRequest } from "effect/http"
import ipaddr from "ipaddr.js"
import { isPublicAddress } from "../../domain/PublicAddress.ts"

/** What one client can easily have many of counts as one: an IPv6 /64. */
const grouped = (address: string) => {
  if (!ipaddr.isValid(address)) return "unknown"
  const parsed = ipaddr.process(address)
  return parsed.kind() === "ipv4" ? parsed.toString() : (parsed as ipaddr.IPv6).parts.slice(0, 4).join(":")
}

/**
 * Whom a guess is counted for. Who connects from the Internet is that; who connects from here or a private network is
 * likely a proxy, and the last hop it names is who came to it.
 */
export const clientAddress = (request: HttpServerRequest.HttpServerRequest): string => {
  const peer = Option.getOrElse(request.remoteAddress, () => "")
  const named = request.headers["x-forwarded-for"]?.split(",").at(-1)?.trim()
  return grouped(named !== undefined && !isPublicAddress(peer) && ipaddr.isValid(named) ? named : peer)
}
