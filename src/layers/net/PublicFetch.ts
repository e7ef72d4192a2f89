import Undici from "@effect/platform-node/Undici"
import { Effect } from "effect"
import { lookup as lookUp } from "node:dns"
import { isPublicAddress } from "../../domain/PublicAddress.ts"
import { type PublicFetch } from "../../services/oauth2/PublicFetch.ts"
import { isPrivateLiteral, NotPublic, publicOnly, type Resolve } from "./Outbound.ts"

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
