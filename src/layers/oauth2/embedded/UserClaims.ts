import type { AccessToken, Client, Configuration, FindAccount } from "oidc-provider"
import { type JsonObject } from "../../../domain/text/JsonObject.ts"
import { type Store } from "./Store.ts"

interface StoredClaims {
  readonly id_token_claims: string
  readonly access_token_claims: string
}

/** What tokens say of users, and who may fetch it. */
export interface UserClaims {
  readonly findAccount: FindAccount
  readonly extraTokenClaims: NonNullable<Configuration["extraTokenClaims"]>
  /** Whether a web page may use tokens of a client: at the origin of a redirect URI, or one that is registered for it. */
  readonly mayUse: (origin: string, client: Client) => boolean
}

/** `isActive`: whether a user still exists and is active; rejects if that can't be determined. */
export const userClaimsOn = ({ ask, sql }: Store, isActive: (subject: string) => Promise<boolean>): UserClaims => {
  const claimsOf = async (grantId: string | undefined) => {
    if (grantId === undefined) return undefined
    const [row] = await ask(sql<StoredClaims>`
      select id_token_claims, access_token_claims from svc.oauth2_consents where grant_id = ${grantId}`)
    return row
  }
  const parsed = (text: string | undefined) => JSON.parse(text ?? "{}") as JsonObject

  return {
    findAccount: async ({ oidc }, sub, token) => {
      // At a consent the bridge knows; later the user may have been disabled or deleted.
      const later = token?.kind === "RefreshToken" || token?.kind === "AccessToken"
      if (later && !(await isActive(sub))) return undefined
      const grantId = token?.grantId ?? oidc.entities.Grant?.jti
      return {
        accountId: sub,
        claims: async () => ({ ...parsed((await claimsOf(grantId))?.id_token_claims), sub })
      }
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
