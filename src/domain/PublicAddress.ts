import ipaddr from "ipaddr.js"

/** 2000::/3 contains all global unicast addresses that IANA has allocated. */
const globalV6 = ipaddr.IPv6.parse("2000::")

/**
 * Whether an IP address is on the public Internet: not loopback, private, link-local, multicast or reserved, nor an IPv6
 * form of those (IPv4-mapped, NAT64, 6to4, Teredo). Text that is not an IP address is not public.
 *
 * request-filtering-agent uses the same ranges of ipaddr.js, but without the limit to 2000::/3, for HTTP agents only,
 * and without a check of the connected peer; so it would be weaker here, and no use for database connections.
 */
export const isPublicAddress = (address: string): boolean => {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.process(address)
  if (parsed.range() !== "unicast") return false
  return parsed.kind() === "ipv4" || (parsed as ipaddr.IPv6).match(globalV6, 3)
}
