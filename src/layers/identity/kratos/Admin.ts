import { Effect, Schema } from "effect"
import { InvalidRequest, NotFound } from "../../../domain/errors.ts"
import { type Factors } from "../../../services/ports/IdP.ts"
import { broken, decoded, type Kratos } from "./Client.ts"
import { isFlowId } from "./Flows.ts"
import { identityOf } from "./Sessions.ts"
import { WireCredentials, WireIdentity } from "./Wire.ts"
import { type UpstreamAnswer } from "../../net/Upstream.ts"

const readIdentity = decoded(WireIdentity)
const readIdentities = decoded(Schema.NullOr(Schema.Array(WireIdentity)))
const readCredentials = decoded(WireCredentials)

const notFound = () => new NotFound({ error: "No such identity", code: "IDENTITY_NOT_FOUND" })

/** The page token in `Link: <…?page_token=…>; rel="next"`. */
const nextOf = ({ headers }: UpstreamAnswer) => {
  const link = /<([^<>]*)>\s*;\s*rel="?next"?/.exec(headers["link"] ?? "")?.[1]
  return link === undefined ? null : new URL(link, "http://localhost").searchParams.get("page_token")
}

export const makeKratosAdmin = (kratos: Kratos) => {
  const find = Effect.fnUntraced(function* (id: string, query: string) {
    if (!isFlowId(id)) return yield* notFound()
    const call = { method: "GET", path: `/admin/identities/${id}${query}` } as const
    const answer = yield* kratos.admin(call)
    if (answer.status === 404) return yield* notFound()
    return answer.status === 200 ? ([call, answer] as const) : yield* broken(call, answer.status, "")
  })

  const identity = Effect.fn("IdP.identity")(function* (id: string) {
    return identityOf(yield* readIdentity(...(yield* find(id, ""))))
  })

  const identities = Effect.fn("IdP.identities")(function* (page: {
    readonly pageSize: number
    readonly pageToken?: string
    readonly identifier?: string
  }) {
    const { identifier, pageSize, pageToken } = page
    if (/\p{Cc}/u.test(`${identifier ?? ""}${pageToken ?? ""}`))
      return yield* new InvalidRequest({ error: "identifier and page_token must not contain control characters" })
    const query = new URLSearchParams({ page_size: String(pageSize) })
    if (pageToken !== undefined) query.set("page_token", pageToken)
    if (identifier !== undefined) query.set("credentials_identifier", identifier)
    const call = { method: "GET", path: `/admin/identities?${query.toString()}` } as const
    const answer = yield* kratos.admin(call)
    if (answer.status === 400)
      return yield* new InvalidRequest({ error: "page_token is invalid", code: "INVALID_PAGE_TOKEN" })
    if (answer.status !== 200) return yield* broken(call, answer.status, "")
    const found = (yield* readIdentities(call, answer)) ?? []
    return { identities: found.map(identityOf), next: nextOf(answer) }
  })

  const factors = Effect.fn("IdP.factors")(function* (identityId: string) {
    // `totp` is not included, since Kratos would return its seed. Recovery codes are returned in plain text, and only counted.
    const query = "?include_credential=webauthn&include_credential=lookup_secret"
    const { credentials } = yield* readCredentials(...(yield* find(identityId, query)))
    const codes = credentials?.lookup_secret?.config?.recovery_codes ?? []
    const keys = credentials?.webauthn?.config?.credentials ?? []
    const factors: Factors = {
      totp: credentials?.totp !== undefined,
      webauthn: keys
        .filter((key) => key.is_passwordless !== true)
        .map((key) => ({
          id: Buffer.from(key.id, "base64").toString("base64url"),
          displayName: key.display_name ?? "",
          addedAt: key.added_at ?? null
        })),
      recoveryCodes: { count: codes.length, used: codes.filter(({ used_at }) => isSet(used_at)).length }
    }
    return factors
  })

  return { identity, identities, factors }
}

/** Times that were never set are null, absent, or Go's zero time. */
const isSet = (time: string | null | undefined) => typeof time === "string" && !time.startsWith("0001-")
