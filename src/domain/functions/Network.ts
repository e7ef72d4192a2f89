/**
 * IPv4 addresses that are not on the public Internet. Deno refuses them by these ranges, also those that a name or a
 * redirect leads to, and in their IPv4-mapped form.
 */
const privateV4 = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.31.196.0/24",
  "192.52.193.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "192.175.48.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4"
]

/** Deno has no ranges for IPv6: this machine's own addresses and those of clouds' metadata are denied one by one. */
const privateV6 = ["[::]", "[::1]", "[fd00:ec2::254]", "[fd20:ce::254]"]

/**
 * Whether one of this machine's own addresses is of a private network of IPv6 (fc00::/7), whose other hosts can't be denied.
 */
export const hasPrivateV6 = (own: ReadonlyArray<string>): boolean => own.some((address) => /^f[cd]/i.test(address))

/** The values of Deno's `--deny-net`. `own`: addresses of this machine. */
export const deniedNetwork = (own: ReadonlyArray<string>): ReadonlyArray<string> =>
  Array.from(
    new Set([...privateV4, ...privateV6, ...own.map((address) => (address.includes(":") ? `[${address}]` : address))])
  )
