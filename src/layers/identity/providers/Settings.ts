import { Effect, Redacted } from "effect"
import { readFileSync } from "node:fs"
import { list, oneOf, secret, SettingError, text, url } from "../../../domain/Settings.ts"
import { isPlainText } from "../../../domain/text/StorableText.ts"
import { loopback } from "../../../services/identity/AccountSettings.ts"

/** A service at which people can sign in, as the operator has set it up. */
export interface ProviderSettings {
  /** Its name in URLs and in the names of its variables. */
  readonly id: string
  readonly kind: "oidc" | "github"
  readonly label: string
  /** The issuer of OpenID Connect, or GitHub's address. */
  readonly issuer: URL
  readonly clientId: string
  /** Further ids, of apps that get ID tokens without a redirect: those for phones have their own at most providers. */
  readonly appClientIds: ReadonlyArray<string>
  /** Undefined for a public client. */
  readonly clientSecret: Redacted.Redacted | undefined
  readonly scopes: ReadonlyArray<string>
}

/** Labels and issuers of well-known providers, which need no setting. */
const known: Readonly<Record<string, { readonly label: string; readonly issuer: string }>> = {
  google: { label: "Google", issuer: "https://accounts.google.com" },
  microsoft: { label: "Microsoft", issuer: "https://login.microsoftonline.com/common/v2.0" },
  gitlab: { label: "GitLab", issuer: "https://gitlab.com" },
  github: { label: "GitHub", issuer: "https://github.com" },
  // Supabase's names of these providers, which apps use.
  apple: { label: "Apple", issuer: "https://appleid.apple.com" },
  azure: { label: "Microsoft", issuer: "https://login.microsoftonline.com/common/v2.0" }
}
const scopesOf = { oidc: ["openid", "email", "profile"], github: ["read:user", "user:email"] }
const maxProviders = 12

const invalid = (message: string) => new SettingError({ message })

/** A secret, from the variable or from the file that another one names. */
const clientSecret = Effect.fnUntraced(function* (name: string) {
  const given = yield* secret(name)
  const path = yield* text(`${name}_FILE`, undefined)
  if (path === undefined) return given
  if (given !== undefined) return yield* invalid(`${name} and ${name}_FILE are both set: remove one`)
  const content = yield* Effect.try({
    try: () => readFileSync(path, "utf8").trim(),
    catch: () => invalid(`${name}_FILE names a file that can't be read: ${path}`)
  })
  return content === "" ? yield* invalid(`${name}_FILE names an empty file: ${path}`) : Redacted.make(content)
})

const provider = Effect.fnUntraced(function* (id: string) {
  if (!/^[a-z][a-z0-9-]{0,29}$/.test(id)) {
    return yield* invalid(
      `SVC_SIGN_IN_WITH must be names of lower-case letters, digits and hyphens, such as google,work, but one is "${id}"`
    )
  }
  const prefix = `SVC_SIGN_IN_${id.toUpperCase().replaceAll("-", "_")}`
  const defaults = Object.hasOwn(known, id) ? known[id] : undefined
  const kind = yield* oneOf(`${prefix}_KIND`, id === "github" ? "github" : "oidc", ["oidc", "github"])
  const clientId = yield* text(`${prefix}_CLIENT_ID`, undefined)
  if (clientId === undefined)
    return yield* invalid(`${prefix}_CLIENT_ID must be set, because SVC_SIGN_IN_WITH has ${id}`)
  const appClientIds = yield* list(`${prefix}_APP_CLIENT_IDS`, [])
  if (appClientIds.length > 20 || (kind === "github" && appClientIds.length > 0)) {
    return yield* invalid(
      `${prefix}_APP_CLIENT_IDS must be at most 20 ids, and only of a provider of OpenID Connect: others have no ID tokens`
    )
  }
  const given = yield* url(`${prefix}_ISSUER`)
  const fallback = kind === "github" ? known["github"]!.issuer : defaults?.issuer
  if (given === undefined && fallback === undefined) {
    return yield* invalid(
      `${prefix}_ISSUER must be set: the issuer of ${id}, such as https://id.example.com/realms/main`
    )
  }
  const issuer = given ?? new URL(fallback!)
  const secure = issuer.protocol === "https:" || (issuer.protocol === "http:" && loopback.test(issuer.hostname))
  if (!secure || issuer.username !== "" || issuer.password !== "" || issuer.hash !== "" || issuer.search !== "") {
    return yield* invalid(
      `${prefix}_ISSUER must be an https URL without user, query and fragment; http is accepted on this machine only`
    )
  }
  const label = yield* text(`${prefix}_LABEL`, defaults?.label ?? id)
  if (label.length > 40 || !isPlainText(label)) return yield* invalid(`${prefix}_LABEL must be at most 40 characters`)
  const credential = yield* clientSecret(`${prefix}_CLIENT_SECRET`)
  if (kind === "github" && credential === undefined) {
    return yield* invalid(
      `${prefix}_CLIENT_SECRET or ${prefix}_CLIENT_SECRET_FILE must be set: GitHub requires a secret`
    )
  }
  const scopes = yield* list(`${prefix}_SCOPES`, scopesOf[kind])
  if (kind === "oidc" && !scopes.includes("openid")) return yield* invalid(`${prefix}_SCOPES must contain openid`)
  const client = { clientId, appClientIds, clientSecret: credential }
  const settings: ProviderSettings = { id, kind, label, issuer, ...client, scopes }
  return settings
})

/** SVC_SIGN_IN_WITH, and the variables of each provider that it names. */
export const providerSettings = Effect.gen(function* () {
  const ids = yield* list("SVC_SIGN_IN_WITH", [])
  if (ids.length > maxProviders || new Set(ids).size < ids.length) {
    return yield* invalid(`SVC_SIGN_IN_WITH must be at most ${maxProviders} different names`)
  }
  return yield* Effect.forEach(ids, provider)
})
