import { type LookupAddress, type LookupOptions, lookup as lookUp } from "node:dns"
import { type LookupFunction, isIP } from "node:net"
import Undici from "@effect/platform-node/Undici"
import { Effect } from "effect"
import { isPublicAddress } from "../../domain/PublicAddress.ts"
import { type PublicFetch } from "../../services/oauth2/PublicFetch.ts"

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

interface PublicFetchOptions {
  readonly allowPrivate: boolean
  /** The variable that allows private addresses, for the error. */
  readonly setting: string
  readonly resolve?: Resolve
}

const connectMillis = 2_000
/** The longest response, in bytes. */
const maxBytes = 256 * 1024

/** Its connections are closed with the scope. */
export const makePublicFetch = Effect.fnUntraced(function* ({
  allowPrivate,
  resolve = lookUp,
  setting
}: PublicFetchOptions) {
  const open = Undici.buildConnector({
    timeout: connectMillis,
    ...(allowPrivate ? {} : { lookup: publicOnly(resolve, setting) })
  })
  const connect: typeof open = (options, done) => {
    const refused = () => done(new NotPublic(options.hostname, setting), null)
    if (!allowPrivate && isPrivateLiteral(options.hostname)) return refused()
    return open(options, (...[error, socket]) => {
      if (error !== null) return done(error, null)
      if (allowPrivate || isPublicAddress(socket.remoteAddress ?? "")) return done(null, socket)
      socket.destroy()
      return refused()
    })
  }
  const dispatcher = yield* Effect.acquireRelease(
    Effect.sync(() => new Undici.Agent({ connect, maxResponseSize: maxBytes })),
    (agent) => Effect.promise(() => agent.destroy())
  )
  const fetch: PublicFetch = (url, options = {}) => {
    const init: unknown = { ...options, redirect: "manual", dispatcher }
    // The types of npm undici and of Node's own fetch differ, their behaviour does not.
    return Undici.fetch(url, init as Parameters<typeof Undici.fetch>[1]) as unknown as Promise<Response>
  }
  return fetch
})
