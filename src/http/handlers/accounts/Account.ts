import { Effect } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { type ClientError, InvalidRequest } from "../../../domain/errors.ts"
import { accountOf, type Credential } from "../../../domain/identity/Identity.ts"
import { otpauthUri } from "../../../domain/identity/SecondFactors.ts"
import { wordsOf } from "../../../domain/language/Language.ts"
import { Mfa } from "../../../services/identity/Mfa.ts"
import { type Session, Sessions } from "../../../services/identity/Sessions.ts"
import { IdentitySettings } from "../../../services/identity/Settings.ts"
import { SignIn } from "../../../services/identity/SignIn.ts"
import { type AccountCalls } from "../../../services/ports/identity/Accounts.ts"
import { IdP } from "../../../services/ports/IdP.ts"
import { takeProviderSecret } from "../../access/cookies/ProviderCookie.ts"
import { clearSessionCookies } from "../../access/cookies/SessionCookies.ts"
import { accountPage, codesPage, newKeyPage, totpPage } from "../../pages/accounts/AccountPage.ts"
import { codePage } from "../../pages/accounts/MailPages.ts"
import { type Fault } from "../../pages/accounts/SignInPages.ts"
import { field, toPage, type Visit } from "../../pages/accounts/Visit.ts"
import { redirectPage } from "../../pages/Pages.ts"
import { faultOf, isAboutForm, makePages, orSignIn, type VisitResponse } from "./Visits.ts"

/** `/auth/account` and `/auth/keys`: what people change about their accounts. */
export const AccountRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const idp = yield* IdP
    const mfa = yield* Mfa
    const sessions = yield* Sessions
    const signIn = yield* SignIn
    const pages = yield* makePages(router)
    const { ownUrl } = yield* IdentitySettings

    /** Adds a page that needs a session. A browser without one signs in first, and returns. */
    const on = <E extends ClientError, R>(
      method: "GET" | "POST",
      name: "account" | "keys",
      use: (visit: Visit, calls: AccountCalls) => Effect.Effect<VisitResponse, E, R>
    ) =>
      pages.on(method, name, (visit, calls) => {
        const returnTo = `${visit.browser.baseUrl}/auth/account`
        return use({ ...visit, browser: { ...visit.browser, returnTo } }, calls).pipe(orSignIn(visit, returnTo))
      })

    const show = (visit: Visit, calls: AccountCalls, fault?: Fault) =>
      Effect.map(
        sessions.withSession(visit.browser, ({ credential, identity }) =>
          Effect.all({
            factors: idp.factors(identity.id),
            passkeys: calls.passkeys(credential),
            links: calls.providers.links(credential),
            sessions: idp.sessions(credential),
            // The identity is read again because the cached one may be older than the change that this page shows.
            identity: idp.identity(identity.id)
          })
        ),
        ({ value }) => accountPage(visit, { ...value, providers: calls.providers.list }, fault)
      )

    const own = <A, E>(visit: Visit, use: (session: Session) => Effect.Effect<A, E>) =>
      Effect.map(sessions.withSession(visit.browser, use), ({ value }) => value)
    const change = <A, E>(visit: Visit, use: (credential: Credential) => Effect.Effect<A, E>) =>
      Effect.map(sessions.change(visit.browser, use), ({ value }) => value)

    const actions: Readonly<
      Record<
        string,
        (
          visit: Visit,
          calls: AccountCalls
        ) => Effect.Effect<VisitResponse | void, ClientError, HttpServerRequest.HttpServerRequest>
      >
    > = {
      email: (visit, calls) =>
        Effect.map(
          own(visit, ({ credential }) => calls.changeEmail(credential, field(visit, "email"))),
          ({ flowId }) => codePage(visit, "verify", flowId)
        ),
      totp: (visit) =>
        Effect.map(mfa.beginTotp(visit.browser), ({ value: { flow_id, totp_secret, totp_url } }) =>
          totpPage(visit, { flowId: flow_id, secret: totp_secret, uri: totp_url })
        ),
      "totp-confirm": (visit) => {
        const [flowId, secret] = [field(visit, "flow", 100), field(visit, "secret", 64)]
        return Effect.asVoid(mfa.confirmTotp(visit.browser, flowId, field(visit, "code", 20))).pipe(
          Effect.catchIf(
            ({ code }: ClientError) => code === "INVALID_CODE",
            (error) =>
              own(visit, ({ identity }) => {
                const issuer = new URL(ownUrl).hostname
                const uri = otpauthUri({ issuer, account: accountOf(identity), secret })
                return Effect.succeed(totpPage(visit, { flowId, secret, uri }, faultOf(visit, error)))
              })
          )
        )
      },
      "totp-remove": (visit) => Effect.asVoid(mfa.removeTotp(visit.browser)),
      codes: (visit) =>
        Effect.map(mfa.beginRecoveryCodes(visit.browser), ({ value }) => codesPage(visit, value.flow_id, value.codes)),
      "codes-confirm": (visit) => Effect.asVoid(mfa.confirmRecoveryCodes(visit.browser, field(visit, "flow", 100))),
      link: (visit, calls) =>
        Effect.gen(function* () {
          const provider = field(visit, "id", 30)
          const { baseUrl, secure } = visit.browser
          const browser = yield* takeProviderSecret(yield* HttpServerRequest.HttpServerRequest, secure)
          const callback = `${baseUrl}/auth/callback/${provider}`
          const returnTo = `${baseUrl}/auth/account`
          const url = yield* own(visit, ({ credential }) =>
            calls.providers.begin({ provider, callback, returnTo, browser, credential })
          )
          return redirectPage(url, visit.look.language)
        }),
      unlink: (visit, calls) =>
        change(visit, (credential) => calls.providers.unlink(credential, field(visit, "id", 30))),
      "key-remove": (visit) => Effect.asVoid(mfa.removeWebAuthn(visit.browser, field(visit, "id", 2048))),
      "passkey-remove": (visit, calls) =>
        change(visit, (credential) => calls.removePasskey(credential, field(visit, "id", 2048))),
      session: (visit) => signIn.revoke(visit.browser, field(visit, "id", 100)),
      sessions: (visit) => Effect.asVoid(signIn.revokeOthers(visit.browser))
    }

    /** Ends the session, and the account too if its owner is sure. */
    const end = Effect.fnUntraced(function* (visit: Visit, calls: AccountCalls, action: "logout" | "delete") {
      if (action === "delete") {
        if (field(visit, "sure") !== "yes") {
          return yield* new InvalidRequest({ error: wordsOf("en").account.selectSure })
        }
        yield* change(visit, calls.remove)
      } else {
        yield* signIn.logout(visit.browser)
      }
      yield* clearSessionCookies(visit.browser.secure)
      return toPage(visit, "signed-out")
    })

    yield* on("GET", "account", (visit, calls) => show(visit, calls))
    yield* on("POST", "account", (visit, calls) => {
      const action = field(visit, "action")
      const done: Effect.Effect<VisitResponse | void, ClientError, HttpServerRequest.HttpServerRequest> =
        action === "logout" || action === "delete"
          ? end(visit, calls, action)
          : Object.hasOwn(actions, action)
            ? actions[action]!(visit, calls)
            : Effect.fail(new InvalidRequest({ error: "action is unknown" }))
      return done.pipe(
        Effect.map((answer): VisitResponse => answer || toPage(visit, "account")),
        Effect.catchIf(
          (error: ClientError) => isAboutForm(error) && error.code !== "UNAUTHENTICATED",
          (error) => show(visit, calls, faultOf(visit, error))
        )
      )
    })

    const showKey = (visit: Visit, calls: AccountCalls, kind: "passkey" | "key", fault?: Fault) =>
      Effect.map(
        own(visit, ({ credential }) =>
          kind === "passkey" ? calls.beginPasskey(credential) : idp.beginWebAuthn(credential)
        ),
        ({ flowId, options }) => newKeyPage(visit, kind, { flowId, publicKey: options.publicKey }, fault)
      )
    const kindOf = (visit: Visit, name: string) => (field(visit, name) === "passkey" ? "passkey" : "key")
    yield* on("GET", "keys", (visit, calls) => showKey(visit, calls, kindOf(visit, "kind")))
    yield* on("POST", "keys", (visit, calls) => {
      const kind = kindOf(visit, "action")
      const given = [
        field(visit, "flow", 100),
        field(visit, "credential", 128 * 1024),
        field(visit, "name", 100)
      ] as const
      return change(visit, (credential) =>
        kind === "passkey"
          ? Effect.asVoid(calls.confirmPasskey(credential, ...given))
          : Effect.asVoid(idp.confirmWebAuthn(credential, ...given))
      ).pipe(
        Effect.as(toPage(visit, "account")),
        Effect.catchIf(
          (error: ClientError) => isAboutForm(error) && error.code !== "UNAUTHENTICATED",
          (error) => showKey(visit, calls, kind, faultOf(visit, error))
        )
      )
    })
  })
)
