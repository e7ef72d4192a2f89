import { Effect } from "effect"
import { Cookies, HttpEffect, HttpServerRequest, HttpServerResponse } from "effect/http"
import { acceptedLanguage, type Language, languageOfLocales } from "../../domain/language/Language.ts"
import { CurrentLanguage } from "../../services/identity/CurrentLanguage.ts"
import { queryOf } from "../wire/Paths.ts"
import { rawValue } from "./cookies/SessionCookies.ts"

/** Keeps what an app has asked for by `ui_locales`, for the pages that follow. */
const name = "svc_language"

const askedFor = ({ url }: HttpServerRequest.HttpServerRequest) => {
  const query = queryOf(url)
  return query.includes("ui_locales")
    ? languageOfLocales(new URLSearchParams(query).get("ui_locales") ?? "")
    : undefined
}

/** The language of a request: `ui_locales`, the cookie that keeps it, or what the browser prefers. */
export const languageOfRequest = (request: HttpServerRequest.HttpServerRequest): Language =>
  askedFor(request) ??
  languageOfLocales(rawValue(request.headers["cookie"] ?? "", name) ?? "") ??
  acceptedLanguage(request.headers["accept-language"])

const keep = (language: Language) =>
  HttpEffect.appendPreResponseHandler((_request, response) =>
    Effect.succeed(
      HttpServerResponse.mergeCookies(
        response,
        Cookies.fromIterable([
          Cookies.makeCookieUnsafe(name, language, { path: "/", httpOnly: true, sameSite: "lax", maxAge: "1 hour" })
        ])
      )
    )
  )

/** Answers in the language of the request. `keeps`: pages that follow have it too. */
export const inLanguage = <A, E, R>(answer: Effect.Effect<A, E, R>, keeps: boolean) =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const asked = keeps ? askedFor(request) : undefined
    if (asked !== undefined) yield* keep(asked)
    return yield* Effect.provideService(answer, CurrentLanguage, languageOfRequest(request))
  })
