import ipaddr from "ipaddr.js"

/** 2000::/3 is all that is given out of IPv6's global unicast addresses. */
const globalV6 = ipaddr.IPv6.parse("2000::")

/**
 * Whether an IP address is one of the public Internet: not loopback, private, link-local, multicast, reserved, or a
 * way to write one of those (IPv4 in IPv6, NAT64, 6to4, Teredo). What is no IP address is not public.
 */
export const isPublicAddress = (address: string): boolean => {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.process(address)
  if (parsed.range() !== "unicast") return false
  return parsed.kind() === "ipv4" || (parsed as ipaddr.IPv6).match(globalV6, 3)
}
