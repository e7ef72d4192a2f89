import { Effect, Layer } from "effect"
import { type ConsentSession } from "../../../domain/oauth2/OAuth2.ts"
import { isId } from "../../../domain/oauth2/Text.ts"
import { OAuth2 } from "../../../services/ports/OAuth2.ts"
import { type OAuth2Address } from "../Address.ts"
import { type Hydra, makeHydra, noMeaning } from "./Calls.ts"
import { hydraChallengesOn } from "./Challenges.ts"
import { clientChangesOn, hydraClientsOn } from "./Clients.ts"
import { readConsents } from "./Replies.ts"

type Port = OAuth2["Service"]

/** Consents per page: each contains the whole client. */
const pageSize = 100

const path = "/admin/oauth2/auth/sessions/consent"

/** The consents and sign-ins of users. */
const hydraConsentsOn = ({ call, send }: Hydra) => {
  const page = (subject: string, token: string | null) =>
    call(
      {
        method: "GET",
        path,
        query: { subject, page_size: String(pageSize), ...(token === null ? {} : { page_token: token }) }
      },
      readConsents,
      noMeaning
    )

  const consents: Port["consents"] = Effect.fn("OAuth2.consents")(function* (subject) {
    const all: Array<ConsentSession> = []
    if (!isId(subject)) return all
    const seen = new Set<string>()
    for (let token: string | null = null; ; seen.add(token)) {
      const { next, value }: { readonly next: string | null; readonly value: ReadonlyArray<ConsentSession> } =
        yield* page(subject, token)
      all.push(...value)
      // Ends the loop if the server's page tokens form a cycle.
      if (next === null || seen.has(next)) return all
      token = next
    }
  })

  /** The server requires exactly one of `client` and `all`. */
  const revokeConsents: Port["revokeConsents"] = (subject, clientId) => {
    if (!isId(subject) || (clientId !== undefined && !isId(clientId))) return Effect.void
    const which: Readonly<Record<string, string>> = clientId === undefined ? { all: "true" } : { client: clientId }
    return send({ method: "DELETE", path, query: { subject, ...which }, once: false }, noMeaning)
  }

  const revokeLogins: Port["revokeLogins"] = (subject) =>
    isId(subject)
      ? send(
          { method: "DELETE", path: "/admin/oauth2/auth/sessions/login", query: { subject }, once: false },
          noMeaning
        )
      : Effect.void

  return { consents, revokeConsents, revokeLogins }
}

/** Time limit of the readiness check, in ms. */
const readyMillis = 2_000

/** The admin API of Ory Hydra (2.x), or of a compatible server. */
export const layerOAuth2Hydra = (address: OAuth2Address) =>
  Layer.effect(
    OAuth2,
    Effect.map(makeHydra(address), (hydra) => {
      const clients = hydraClientsOn(hydra)
      return OAuth2.of({
        configured: true,
        ready: Effect.match(
          hydra.send({ method: "GET", path: "/health/ready", millis: readyMillis, once: true, quiet: true }, noMeaning),
          { onSuccess: () => true, onFailure: () => false }
        ),
        ...hydraChallengesOn(hydra),
        ...hydraConsentsOn(hydra),
        ...clients,
        ...clientChangesOn(hydra, clients.client)
      })
    })
  )
