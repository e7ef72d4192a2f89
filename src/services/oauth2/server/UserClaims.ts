import type { AccessToken, Client, Configuration, FindAccount } from "oidc-provider"
import { type JsonObject } from "../../../domain/text/JsonObject.ts"
import { type OAuth2Store } from "./Store.ts"

interface StoredClaims {
  readonly grant_scope: ReadonlyArray<string>
  readonly id_token_claims: string
  readonly access_token_claims: string
}

/** Claims about users in tokens, and the origins that may fetch them. */
export interface UserClaims {
  readonly findAccount: FindAccount
  readonly extraTokenClaims: NonNullable<Configuration["extraTokenClaims"]>
  /** Whether a web page may use tokens of a client: at the origin of a redirect URI, or one that is registered for it. */
  readonly mayUse: (origin: string, client: Client) => boolean
}

/** The claims of a user now; see EmbeddedOptions. */
export type CurrentClaims = (stored: JsonObject, subject: string, scope: ReadonlyArray<string>) => Promise<JsonObject>

interface People {
  readonly store: OAuth2Store
  /** Whether a user still exists and is active; rejects if that can't be determined. */
  readonly isActive: (subject: string) => Promise<boolean>
  readonly currentClaims: CurrentClaims
}

export const userClaimsOn = ({ currentClaims, isActive, store: { ask, sql } }: People): UserClaims => {
  const claimsOf = async (grantId: string | undefined) => {
    if (grantId === undefined) return undefined
    const [row] = await ask(sql<StoredClaims>`
      select grant_scope, id_token_claims, access_token_claims from svc.oauth2_consents where grant_id = ${grantId}`)
    return row
  }
  const parsed = (text: string | undefined) => JSON.parse(text ?? "{}") as JsonObject

  return {
    findAccount: async ({ oidc }, sub, token) => {
      // Whatever a user's token, code or session is used for: the user may have been disabled or deleted meanwhile.
      if (!(await isActive(sub))) return undefined
      const grantId = token?.grantId ?? oidc.entities.Grant?.jti
      const narrowed = token?.scope?.split(" ")
      const claims = async () => {
        const row = await claimsOf(grantId)
        if (row === undefined) return { sub }
        const scope = row.grant_scope.filter((one) => narrowed?.includes(one) !== false)
        return { ...(await currentClaims(parsed(row.id_token_claims), sub, scope)), sub }
      }
      return { accountId: sub, claims }
    },
    extraTokenClaims: async (_ctx, token) => {
      const row = await claimsOf((token as AccessToken).grantId)
      return row && { ext: parsed(row.access_token_claims) }
    },
    mayUse: (origin, { allowed_cors_origins, redirectUris }) =>
      /^https?:\/\//.test(origin) &&
      [...(redirectUris ?? []), ...(Array.isArray(allowed_cors_origins) ? allowed_cors_origins : [])].some(
        (uri) => URL.canParse(String(uri)) && new URL(String(uri)).origin === origin
      )
  }
}
