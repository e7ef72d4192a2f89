import { Effect } from "effect"
import { isIP } from "node:net"
import { Forbidden, Unauthorized } from "../../domain/errors.ts"
import { Tokens } from "../../services/access/Tokens.ts"
import { IdentitySettings } from "../../services/identity/Settings.ts"
import { makeAttemptLimit } from "../../services/identity/AttemptLimits.ts"
import { type McpCaller } from "../../services/mcp/Tool.ts"
import { Counts } from "../../services/ports/workers/Counts.ts"
import { ClientGate } from "../access/ClientGate.ts"
import { apiKeyOf, bearerOf, withBearerKey } from "../access/Credentials.ts"
import { authorOf, type ServedRequest } from "../access/ServedRequest.ts"

/** Requests of a user without a key in a minute. */
const maxOfUser = 120

const keyText = /^svc_[ps]k_/

const missing = new Unauthorized({
  error: "The credentials are missing: send an API key as apikey or Authorization: Bearer, or a user's access token"
})
const foreignOrigin = new Forbidden({
  error: "The Origin of this request is not this service: browsers must not call /mcp from other sites",
  code: "MCP_ORIGIN"
})
const foreignHost = new Forbidden({
  error: "The Host of this request is not a name of this service",
  code: "MCP_HOST",
  hint: "Set PUBLIC_URL to the URL at which clients reach the service"
})

const noKey = { type: "key", id: 0, label: "" } as const

const hostOf = (origin: string) => (URL.canParse(origin) ? new URL(origin).host : "")
const hostnameOf = (url: string) => (URL.canParse(url) ? new URL(url).hostname : "")

/**
 * Names that no attacker's DNS server answers for: addresses, and names without a dot, such as localhost or a container's.
 * Behind any other name a web page may have rebound its own host to this machine.
 */
const isLocal = (name: string) => name !== "" && (name.startsWith("[") || isIP(name) !== 0 || !name.includes("."))

/** Admits requests of `/mcp`, by credentials that no browser adds by itself: cookies do not count. */
export const makeMcpGate = Effect.gen(function* () {
  const gate = yield* ClientGate
  const tokens = yield* Tokens
  const settings = yield* IdentitySettings
  const limit = makeAttemptLimit((yield* Counts).windows("mcp-users"), maxOfUser)
  const { dashboardUrl, ownUrl } = settings
  const origins = new Set([ownUrl, dashboardUrl].flatMap((url) => (url === undefined ? [] : [new URL(url).origin])))

  /**
   * The MCP specification's checks against DNS rebinding. A page of this service, such as the dashboard, has the host that it
   * sends its requests to, whose name is checked as well.
   */
  const refuseForeign = ({ headers }: ServedRequest): Effect.Effect<void, Forbidden> => {
    const { host = "", origin } = headers
    if (origin !== undefined && !origins.has(origin) && hostOf(origin) !== host) return Effect.fail(foreignOrigin)
    const name = hostnameOf(`http://${host}`)
    return isLocal(name) || name === hostnameOf(ownUrl) ? Effect.void : Effect.fail(foreignHost)
  }

  const enter = Effect.fnUntraced(function* (request: ServedRequest) {
    yield* refuseForeign(request)
    const { headers } = request
    const token = bearerOf(headers)
    const key = yield* apiKeyOf(headers)
    if (key === "" && token === undefined) return yield* missing
    if (key === "" && token !== undefined && !keyText.test(token)) {
      const { claims, sub } = yield* tokens.verify(token)
      yield* limit(sub)
      const actor = { role: "authenticated", claims, sub, client: `user ${sub}` } as const
      return { actor, author: { type: "identity", id: sub, label: "" } } satisfies McpCaller
    }
    const { actor } = yield* gate.enter(withBearerKey(headers), request)
    const author = request.credential === undefined ? noKey : authorOf(request.credential)
    return { actor, author } satisfies McpCaller
  })

  return enter
})
