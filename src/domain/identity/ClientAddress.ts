import ipaddr from "ipaddr.js"
import { isPublicAddress } from "../PublicAddress.ts"

/** Whether the `X-Forwarded-For` of an address is trusted. `peer`: it is the one that connected to this service. */
export type IsProxy = (address: string, peer: boolean) => boolean

const rangeOf = (text: string) => {
  const range = text.includes("/") ? text : `${text}/${text.includes(":") ? 128 : 32}`
  // ipaddr.js also accepts short forms such as 10.1, which few people read as 10.0.0.1.
  if (!range.includes(":") && !/^\d+(?:\.\d+){3}\//.test(range)) return undefined
  return ipaddr.isValidCIDR(range) ? ipaddr.parseCIDR(range) : undefined
}

/**
 * Reads the proxies of a list of addresses and ranges (`10.0.0.0/8`); undefined when the list is invalid. `private`: a
 * peer that is not on the public Internet, which is probably a proxy; hops before it may be clients of a private network.
 * `none`: no proxies.
 */
export const proxiesOf = (list: ReadonlyArray<string>): IsProxy | undefined => {
  const isPrivate = list.includes("private")
  const ranges = list.filter((name) => name !== "private" && name !== "none").map(rangeOf)
  if ((list.includes("none") && list.length > 1) || ranges.includes(undefined)) return undefined
  return (address, peer) => {
    if (!ipaddr.isValid(address)) return false
    if (peer && isPrivate && !isPublicAddress(address)) return true
    const parsed = ipaddr.process(address)
    return ranges.some(
      (range) =>
        range !== undefined && parsed.kind() === range[0].kind() && parsed.match(range as [ipaddr.IPv4, number])
    )
  }
}

/** Groups the addresses that one client can easily have: an IPv6 /64 counts as one. */
const groupOf = (address: string) => {
  if (!ipaddr.isValid(address)) return "unknown"
  const parsed = ipaddr.process(address)
  return parsed.kind() === "ipv4" ? parsed.toString() : (parsed as ipaddr.IPv6).parts.slice(0, 4).join(":")
}

/**
 * The address that attempts are counted for: the peer, or behind proxies the last hop of `X-Forwarded-For` that is not
 * one. A proxy appends the hop before it, so everything further left may be made up by the client.
 */
export const clientAddressOf = (peer: string, forwarded: string | undefined, isProxy: IsProxy): string => {
  let client = peer
  for (const hop of forwarded?.split(",").toReversed() ?? []) {
    if (!isProxy(client, client === peer) || !ipaddr.isValid(hop.trim())) break
    client = hop.trim()
  }
  return groupOf(client)
}
