import { errors, type ErrorOut, type KoaContextWithOIDC } from "oidc-provider"
import { hashOf, type Store } from "./Store.ts"

interface Begun {
  readonly request_url: string
  readonly used: boolean
}

/**
 * Answers errors that the library can't return to a client. A browser that continues a request of another browser, or one
 * that was answered, returns to the client without a code; other errors have a page.
 */
export const renderErrorOn =
  ({ ask, sql }: Store, issuer: string) =>
  async (ctx: KoaContextWithOIDC, out: ErrorOut, error: Error) => {
    if (ctx.oidc?.route === "resume" && error instanceof errors.SessionNotFound) {
      const [row] = await ask(sql<Begun>`
        select request_url, used_at is not null as used from svc.oauth2_challenges
        where id = ${hashOf(ctx.path.split("/").at(-1) ?? "")}`)
      const request = row && new URL(row.request_url).searchParams
      const redirectUri = request?.get("redirect_uri") ?? null
      if (row !== undefined && redirectUri !== null) {
        const to = new URL(redirectUri)
        const state = request?.get("state") ?? null
        to.searchParams.set("error", row.used ? "access_denied" : "request_forbidden")
        if (state !== null) to.searchParams.set("state", state)
        to.searchParams.set("iss", issuer)
        ctx.status = 303
        ctx.redirect(to.href)
        return
      }
    }
    const to = new URL(`${issuer}/oauth2/error`)
    to.searchParams.set("error", out.error)
    if (out.error_description !== undefined) to.searchParams.set("error_description", out.error_description)
    ctx.status = 303
    ctx.redirect(to.href)
  }
