import { Option } from "effect"
import { type HttpServerRequest } from "effect/http"
import { LRUCache } from "lru-cache"
import ipaddr from "ipaddr.js"
import { isPublicAddress } from "../../domain/PublicAddress.ts"
import { headersOf } from "./Credentials.ts"

/** Results by peer and forwarded address: parsing takes longer than the rest of a small request's admission. */
const known = new LRUCache<string, string>({ max: 4096 })

/** Groups the addresses that one client can easily have: an IPv6 /64 counts as one. */
const groupOf = (address: string) => {
  if (!ipaddr.isValid(address)) return "unknown"
  const parsed = ipaddr.process(address)
  return parsed.kind() === "ipv4" ? parsed.toString() : (parsed as ipaddr.IPv6).parts.slice(0, 4).join(":")
}

const clientOf = (peer: string, forwarded: string | undefined) =>
  groupOf(forwarded !== undefined && !isPublicAddress(peer) && ipaddr.isValid(forwarded) ? forwarded : peer)

/**
 * The address by which a client's attempts are counted and its requests take turns. A peer on the public Internet is the
 * client itself; a peer on this machine or a private network is probably a proxy, and the last hop that it names is the
 * client.
 */
export const clientAddress = (request: HttpServerRequest.HttpServerRequest): string => {
  const peer = Option.getOrElse(request.remoteAddress, () => "")
  const forwarded = headersOf(request)["x-forwarded-for"]?.split(",").at(-1)?.trim()
  const key = forwarded === undefined ? peer : `${peer} ${forwarded.slice(0, 50)}`
  const found = known.get(key)
  if (found !== undefined) return found
  const client = clientOf(peer, forwarded)
  known.set(key, client)
  return client
}
