import ipaddr from "ipaddr.js"

/** 2000::/3: the only IPv6 global unicast addresses in use. */
const globalV6 = ipaddr.IPv6.parse("2000::")

/**
 * Whether an IP address is on the public Internet: not loopback, private, link-local, multicast, reserved, or an
 * encoding of one of those (IPv4 in IPv6, NAT64, 6to4, Teredo). False for text that is not an IP address.
 */
export const isPublicAddress = (address: string): boolean => {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.process(address)
  if (parsed.range() !== "unicast") return false
  return parsed.kind() === "ipv4" || (parsed as ipaddr.IPv6).match(globalV6, 3)
}
