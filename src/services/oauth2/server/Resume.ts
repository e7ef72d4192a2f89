import { Effect } from "effect"
import { errors, type ErrorOut, type InteractionResults, type KoaContextWithOIDC, type Provider } from "oidc-provider"
import { endSessions } from "../../../domain/oauth2/Revocations.ts"
import { endLogout } from "./Logouts.ts"
import { offlineMark, silentMark } from "./Requests.ts"
import { tokenHashOf, type OAuth2Store } from "./Store.ts"

type Next = () => Promise<unknown>

interface Answered {
  readonly result: string
  readonly resource: ReadonlyArray<string> | null
  readonly session_lost: boolean
}

export interface ResumePlaces {
  /** The issuer's URL without a trailing slash. */
  readonly issuer: string
  /** Path of the issuer; "" without one. */
  readonly path: string
  readonly signedOut: string
}

const resumePath = /^\/oauth2\/auth\/([\w-]{1,100})$/

/** Adapts authorization requests, before the library reads them. */
const adapted = (given: string) => {
  const query = new URLSearchParams(given)
  query.delete(silentMark)
  query.delete(offlineMark)
  // The library grants offline_access only with prompt=consent (OpenID Connect Core 11); the bridge asks in any case.
  // A choice between accounts is made by signing in to one.
  const prompts = (query.get("prompt") ?? "")
    .split(" ")
    .map((one) => (one === "select_account" ? "login" : one))
    .filter(Boolean)
  if (query.has("prompt")) query.set("prompt", [...new Set(prompts)].join(" "))
  const offline = (query.get("scope") ?? "").split(" ").includes("offline_access")
  const silent = prompts.join(" ") === "none"
  if (offline && !prompts.includes("consent") && (silent || !prompts.includes("none"))) {
    query.set("prompt", silent ? "consent" : [...prompts, "consent"].join(" "))
    query.set(offlineMark, "1")
    if (silent) query.set(silentMark, "1")
  }
  // The name that Ory Hydra and Auth0 have for it.
  const audience = query.get("audience")
  query.delete("audience")
  if (audience !== null && !query.has("resource")) {
    for (const one of audience.split(" ")) if (one !== "") query.append("resource", one)
  }
  return query.toString()
}

/** Middleware before the library: requests as it needs them, answers of the bridge, and ends of sign-outs. */
export const middlewareOn = (store: OAuth2Store, provider: Provider, { issuer, path, signedOut }: ResumePlaces) => {
  const { ask, sql } = store

  /**
   * Gives the library the answer to a challenge: if this browser began the request, and the answer sent it here. The
   * library itself only looks at the cookie. True if the browser was sent elsewhere instead.
   */
  const takeAnswer = async (ctx: KoaContextWithOIDC, uid: string) => {
    const verifier = ctx.query["verifier"]
    if (typeof verifier !== "string") return false
    const [answer] = await ask(sql<Answered>`
      select result, resource, session_lost from svc.oauth2_answers
      where verifier = ${tokenHashOf(verifier)} and challenge = ${tokenHashOf(uid)} and expires_at > now()`)
    if (answer === undefined) return false
    if (ctx.cookies.get("oauth2_resume", { signed: true }) !== uid) return restart(ctx, uid)
    // Two answers to one challenge, at the same time or later: only one of them counts.
    const [first] = await ask(sql`
      update svc.oauth2_challenges set used_at = now() where id = ${tokenHashOf(uid)} and used_at is null returning id`)
    if (first === undefined) return (await restart(ctx, uid)) || (await toClient(store, ctx, uid, issuer))
    const result = JSON.parse(answer.result) as InteractionResults
    const session = await sessionOf(ctx)
    // Another tab may have signed in another user meanwhile.
    const isOther = result.login !== undefined && session.accountId !== result.login.accountId
    const sessionLost = session.accountId !== undefined && (answer.session_lost || isOther)
    if (sessionLost) {
      await ask(Effect.andThen(sql.unsafe(endSessions("uid = $1"), [session.uid]), store.noticesDue.open))
    }
    store.continueWith({ uid, result, resource: answer.resource, sessionLost: sessionLost || answer.session_lost })
    return false
  }

  const sessionOf = (ctx: KoaContextWithOIDC) =>
    provider.Session.get(ctx as unknown as Parameters<typeof provider.Session.get>[0])

  /** A sign-in that was answered twice, by two clicks for example, continues with the session of the first answer. */
  const restart = async (ctx: KoaContextWithOIDC, uid: string) => {
    const [row] = await ask(sql<{ request_url: string }>`
      select request_url from svc.oauth2_challenges
      where id = ${tokenHashOf(uid)} and kind = 'login' and used_at is not null and expires_at > now()`)
    if (row === undefined) return false
    if ((await sessionOf(ctx)).accountId === undefined) return false
    ctx.status = 303
    ctx.redirect(row.request_url)
    return true
  }

  /** Removes the browser's cookie if its session has ended, and redirects as the client requested. */
  const leave = async (ctx: KoaContextWithOIDC, verifier: string) => {
    const to = await endLogout(store, verifier)
    const cookie = ctx.cookies.get("oauth2_session", { signed: true })
    if (cookie !== undefined && (await provider.Session.find(cookie)) === undefined) {
      ctx.cookies.set("oauth2_session", null, { path: `${path}/oauth2`, signed: true })
    }
    ctx.redirect(to ?? signedOut)
  }

  return async (ctx: KoaContextWithOIDC, next: Next) => {
    const { logout_verifier } = ctx.query
    if (ctx.path === "/oauth2/auth") ctx.querystring = adapted(ctx.querystring)
    const uid = resumePath.exec(ctx.path)?.[1]
    if (uid !== undefined && (await takeAnswer(ctx, uid))) return
    if (ctx.path === "/oauth2/sessions/logout" && typeof logout_verifier === "string") {
      return leave(ctx, logout_verifier)
    }
    await next()
    // A sign-out without a session needs no confirmation, but the library answers with a form that JavaScript submits.
    if (ctx.oidc?.route === "end_session" && ctx.status === 200 && ctx.oidc.session?.accountId === undefined) {
      ctx.body = ""
      ctx.redirect(afterLogout(ctx, signedOut))
    }
  }
}

/** The URL after a sign-out: a registered URL of the client with its state, or the page of this service. */
export const afterLogout = ({ oidc }: KoaContextWithOIDC, signedOut: string) => {
  const { post_logout_redirect_uri, state } = oidc.params ?? {}
  if (typeof post_logout_redirect_uri !== "string") return signedOut
  const to = new URL(post_logout_redirect_uri)
  if (typeof state === "string") to.searchParams.set("state", state)
  return to.href
}

interface Begun {
  readonly request_url: string
  readonly used: boolean
}

/** Returns a browser that can't continue a request to the client, without a code; false if the request is unknown. */
const toClient = async ({ ask, sql }: OAuth2Store, ctx: KoaContextWithOIDC, uid: string, issuer: string) => {
  const [row] = await ask(sql<Begun>`
    select request_url, used_at is not null as used from svc.oauth2_challenges where id = ${tokenHashOf(uid)}`)
  const request = row && new URL(row.request_url).searchParams
  const redirectUri = request?.get("redirect_uri") ?? null
  // A client that expects a form (response_mode=form_post) does not read a query: the service's page shows the error.
  if (row === undefined || redirectUri === null || request?.get("response_mode") === "form_post") return false
  const to = new URL(redirectUri)
  const state = request?.get("state") ?? null
  const answer = {
    error: row.used ? "access_denied" : "request_forbidden",
    ...(state === null ? {} : { state }),
    iss: issuer
  }
  if (request?.get("response_mode") === "fragment") to.hash = new URLSearchParams(answer).toString()
  else for (const [name, value] of Object.entries(answer)) to.searchParams.set(name, value)
  ctx.status = 303
  ctx.redirect(to.href)
  return true
}

/**
 * Answers errors that the library can't return to a client. A browser that continues a request of another browser, or one
 * that was answered, returns to the client without a code; other errors have a page.
 */
export const renderErrorOn =
  (store: OAuth2Store, issuer: string) => async (ctx: KoaContextWithOIDC, out: ErrorOut, error: Error) => {
    const uid = ctx.path.split("/").at(-1) ?? ""
    const resumed = ctx.oidc?.route === "resume" && error instanceof errors.SessionNotFound
    if (resumed && (await toClient(store, ctx, uid, issuer))) return
    const to = new URL(`${issuer}/oauth2/error`)
    to.searchParams.set("error", out.error)
    if (out.error_description !== undefined) to.searchParams.set("error_description", out.error_description)
    ctx.status = 303
    ctx.redirect(to.href)
  }
