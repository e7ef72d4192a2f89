import { type LookupAddress, type LookupOptions } from "node:dns"
import { isIP, type LookupFunction } from "node:net"
import { isPublicAddress } from "../../domain/PublicAddress.ts"

/** Looks up all addresses of a name, as `node:dns` does. */
export type Resolve = (
  hostname: string,
  options: LookupOptions & { readonly all: true },
  done: (error: NodeJS.ErrnoException | null, addresses: Array<LookupAddress>) => void
) => void

/** A host outside the public Internet. `setting` is the variable that allows it. */
export class NotPublic extends Error {
  constructor(host: string, setting: string) {
    super(`Refused: ${host} is not on the public Internet (${setting})`)
  }
}

/** A look-up that returns only public addresses, so that no others are ever connected to. */
export const publicOnly =
  (resolve: Resolve, setting: string): LookupFunction =>
  (hostname, options, done) =>
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return done(error, "")
      const allowed = addresses.filter(({ address }) => isPublicAddress(address))
      const [first] = allowed
      if (first === undefined) return done(new NotPublic(hostname, setting), "")
      return options.all === true ? done(null, allowed) : done(null, first.address, first.family)
    })

/** Whether a host is an IP address, which is never looked up, and not a public one. */
export const isPrivateLiteral = (hostname: string): boolean => {
  const host = hostname.replace(/^\[|\]$/g, "")
  return isIP(host) !== 0 && !isPublicAddress(host)
}

/** Messages for error codes of sockets and name look-ups. */
export const socketMessages: Readonly<Record<string, string>> = {
  ECONNREFUSED: "Connection refused",
  ECONNRESET: "The server closed the connection",
  EPIPE: "The server closed the connection",
  EHOSTUNREACH: "Host unreachable",
  ENETUNREACH: "Network unreachable",
  ENOTFOUND: "No such host",
  ENODATA: "No such host",
  EAI_AGAIN: "The host name can't be resolved at the moment",
  ETIMEDOUT: "Connection timed out",
  ENOENT: "No such socket"
}
