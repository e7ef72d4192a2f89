import { Effect, Schema } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { type ClientError } from "../../../domain/errors.ts"
import { wordsOf } from "../../../domain/language/Language.ts"
import { invalidPhone, validationFailed, otpExpired } from "../../../domain/supabase/AuthErrors.ts"
import { redirectOf, withFragment, withQuery } from "../../../domain/supabase/Redirects.ts"
import { BrandSettings } from "../../../services/identity/Brand.ts"
import { CurrentLanguage } from "../../../services/identity/CurrentLanguage.ts"
import { type Proven } from "../../../services/ports/supabase/AuthCalls.ts"
import { headersOf } from "../../wire/Headers.ts"
import { alert, button, input } from "../../pages/accounts/Visit.ts"
import { html, page } from "../../pages/Html.ts"
import { formOf, redirectPage } from "../../pages/Pages.ts"
import { authCodeOf } from "../Errors.ts"
import { bodyOf, type Call, json, makeAuthRoutes, present, type AuthResponse, shortText } from "./Access.ts"

const Body = Schema.Struct({
  type: shortText,
  token: shortText,
  token_hash: shortText,
  email: shortText,
  phone: shortText,
  password: shortText
})
const verifyOf = bodyOf(Body)

/**
 * The URL that returns a browser after a proof: with a code in the query, or with tokens in the fragment, which no
 * server receives.
 */
export const provenUrl = (to: string, proven: Proven) => {
  if ("code" in proven) return withQuery(to, { code: proven.code })
  if ("message" in proven) return withFragment(to, { message: proven.message })
  const { access_token, expires_at, expires_in, provider_refresh_token, provider_token, refresh_token } = proven.session
  return withFragment(to, {
    access_token,
    expires_at: String(expires_at),
    expires_in: String(expires_in),
    refresh_token,
    token_type: "bearer",
    ...(provider_token === undefined ? {} : { provider_token }),
    ...(provider_refresh_token === undefined ? {} : { provider_refresh_token }),
    ...(proven.type === "" ? {} : { type: proven.type })
  })
}

/** The URL that returns a browser after a failure, whose fields are in query and fragment because clients read both. */
export const failedUrl = (to: string, { code, error, status }: ClientError) => {
  const values = {
    error: status >= 500 ? "server_error" : "access_denied",
    error_code: authCodeOf(code),
    error_description: error
  }
  return withFragment(withQuery(to, values), values)
}

/** A redirect whose URL may contain secrets: not cached, and sent to no other site as a referrer. */
export const leaveTo = (location: string): AuthResponse =>
  HttpServerResponse.empty({
    status: 303,
    headers: { location, "cache-control": "no-store", "referrer-policy": "no-referrer" }
  })

/** `/auth/v1/verify`: what mails contain, as clients send it, and as browsers open it. */
export const AuthVerifyRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { enabled, on, settings } = yield* makeAuthRoutes(router)
    if (!enabled) return
    const { brand } = yield* BrandSettings

    const followed = (call: Call, token: string, type: string, password?: string) =>
      Effect.gen(function* () {
        const known = yield* call.calls.redirectOf(token)
        const to = known === undefined ? call.redirectTo : redirectOf(known, settings.site, settings.redirects)
        return yield* call.calls.verify({ type, tokenHash: token }, { byLink: true, password }).pipe(
          Effect.map((proven) => provenUrl(to, proven)),
          // The page can be submitted again: the link is not used up.
          Effect.catchIf(
            ({ code, status }) => password === undefined || (code !== "invalid_credentials" && status !== 429),
            (error) => Effect.succeed(failedUrl(to, error))
          )
        )
      })

    /** Programs that scan mails open their links, so a link that would use up its token needs a click. */
    const confirmPage = (token: string, type: string) =>
      Effect.map(CurrentLanguage, (language) => {
        const { common, mails } = wordsOf(language)
        return page(
          mails.signIn.subject,
          html`<h1>${mails.signIn.subject}</h1>
            <form method="post" action="verify">
              <input type="hidden" name="token" value="${token}" />
              <input type="hidden" name="type" value="${type}" />
              <button class="main">${common.continue}</button>
            </form>`,
          { brand, language }
        )
      })

    /** Another person may have signed up with the reader's address, so only the password keeps it. */
    const passwordPage = (token: string, type: string, fault?: ClientError) =>
      Effect.map(CurrentLanguage, (language) => {
        const { common, signUp, verify } = wordsOf(language)
        return page(
          verify.title,
          html`<h1>${verify.title}</h1>
            ${alert(fault && (fault.status === 429 ? signUp.later : signUp.wrong))}
            <form method="post" action="verify">
              <input type="hidden" name="token" value="${token}" />
              <input type="hidden" name="type" value="${type}" />
              ${input(signUp.password, { name: "password", type: "password", autocomplete: "current-password" })}
              <div class="buttons">${button(common.continue)}</div>
              <p>${signUp.unknown}</p>
              <div class="buttons"><button name="without" value="true" formnovalidate>${signUp.without}</button></div>
            </form>`,
          { brand, language, status: fault?.status ?? 200 }
        )
      })

    yield* on("GET", "/verify", "everybody", (call) =>
      Effect.gen(function* () {
        const { query, request } = call
        const [token, type] = [query.get("token") ?? query.get("token_hash") ?? "", query.get("type") ?? ""]
        if (token === "" || token.length > 200) return leaveTo(failedUrl(call.redirectTo, otpExpired))
        const byPerson = headersOf(request)["sec-fetch-user"] === "?1"
        const asked = request.method === "GET" ? yield* call.calls.asksFor(token) : "click"
        if (asked === "password") return yield* passwordPage(token, type.slice(0, 30))
        if (asked === "click" && !(byPerson && request.method === "GET")) {
          return yield* confirmPage(token, type.slice(0, 30))
        }
        return leaveTo(yield* followed(call, token, type))
      })
    )

    yield* on("POST", "/verify", "everybody", (call) =>
      Effect.gen(function* () {
        const { request } = call
        if (/^application\/x-www-form-urlencoded/i.test(headersOf(request)["content-type"] ?? "")) {
          const fields = yield* formOf(request)
          const token = (fields.get("token") ?? "").slice(0, 200)
          const type = (fields.get("type") ?? "").slice(0, 30)
          const password = fields.has("without") ? undefined : present(fields.get("password")?.slice(0, 4096))
          // A redirect would be blocked: the form-action policy applies to its target too.
          return yield* Effect.matchEffect(followed(call, token, type, password), {
            onFailure: (error) => passwordPage(token, type, error),
            onSuccess: (to) => Effect.map(CurrentLanguage, (language) => redirectPage(to, language))
          })
        }
        const { email, password, phone, token, token_hash: tokenHash, type } = yield* verifyOf(call)
        if (type == null || type === "") return yield* validationFailed("Verify requires a verification type")
        // No account has a phone number, so no code for one is valid.
        if (present(phone) !== undefined && !/^\+?[1-9]\d{1,14}$/.test(phone ?? "")) return yield* invalidPhone
        if ((present(token) === undefined) === (present(tokenHash) === undefined)) {
          return yield* validationFailed("Verify requires either a token or a token hash")
        }
        const proof =
          tokenHash != null && tokenHash !== ""
            ? { type, tokenHash }
            : email != null && token != null && /^\d{6}$/.test(token)
              ? { type, email, code: token }
              : yield* otpExpired
        const proven = yield* call.calls.verify(proof, { byLink: false, password: present(password) })
        if ("message" in proven) return json({ code: 200, msg: proven.message })
        return json("session" in proven ? proven.session : proven)
      })
    )
  })
)
