import { assert, layer } from "@effect/vitest"
import { Effect, type Layer, Redacted } from "effect"
import {
  cookieOf,
  type IdPUnderTest,
  makePerson,
  messagesTo,
  type Person,
  tokenOf,
  unknownId
} from "../../support/identity/idp.ts"
import { enrolTotp } from "./totp.ts"
import { IdP } from "../../../src/services/ports/IdP.ts"

/** The origin that the server under test may return browsers to, and that of its forms, as in deploy/idp. */
const app = "http://localhost:3000"
const pages = "http://localhost:4455"
const json = { accept: "application/json" }

interface Sent {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly json?: unknown
  readonly form?: Readonly<Record<string, string>>
}

interface Got {
  readonly status: number
  /** The redirect's URL, without its query. */
  readonly location: string
  readonly query: URLSearchParams
  readonly setCookies: ReadonlyArray<string>
  readonly cookies: Readonly<Record<string, string>>
  readonly body: { readonly [name: string]: unknown }
}

/**
 * The HTTP responses that the port does not use, but that the fake and a real identity provider share: pages for
 * browsers, CSRF, and forms without a browser. Needed by tests that run the whole service with the fake.
 */
export const idpPagesContract = (name: string, idp: IdPUnderTest, port: Layer.Layer<IdP>) =>
  layer(port, { excludeTestServices: true, timeout: 60_000 })(name, (it) => {
    const call = (path: string, { form, headers, json, method }: Sent = {}) =>
      Effect.promise(async (): Promise<Got> => {
        const body =
          json === undefined ? (form === undefined ? null : new URLSearchParams(form).toString()) : JSON.stringify(json)
        const type = json === undefined ? "application/x-www-form-urlencoded" : "application/json"
        const response = await fetch(new URL(path, idp.publicUrl), {
          method: method ?? (body === null ? "GET" : "POST"),
          redirect: "manual",
          headers: { accept: "text/html", ...(body === null ? {} : { "content-type": type }), ...headers },
          body
        })
        const location = response.headers.get("location")
        const url = location === null ? undefined : new URL(location, idp.publicUrl)
        const setCookies = response.headers.getSetCookie()
        const pairs = setCookies.map((line) => line.split(";")[0] ?? "")
        const text = await response.text()
        return {
          status: response.status,
          location: url === undefined ? "" : `${url.origin}${url.pathname}`,
          query: url?.searchParams ?? new URLSearchParams(),
          setCookies,
          cookies: Object.fromEntries(
            pairs.map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)])
          ),
          body: text.startsWith("{") ? (JSON.parse(text) as Got["body"]) : {}
        }
      })

    /** `400 session_already_available`, `400 form 4000006`, `303 http://…`. */
    const brief = ({ body, location, status }: Got) => {
      const error = body["error"] as { readonly id?: string } | undefined
      const ui = body["ui"] as { readonly messages?: ReadonlyArray<{ readonly id: number }> } | undefined
      const message = ui === undefined ? error?.id : `form ${ui.messages?.[0]?.id ?? ""}`
      return `${status} ${location}${message ?? ""}`.trim()
    }
    const cookies = (all: Readonly<Record<string, string>>) => ({
      cookie: Object.entries(all)
        .map(([name, value]) => `${name}=${value}`)
        .join("; ")
    })
    const csrfOf = (got: Got) => Object.entries(got.cookies).find(([name]) => name.startsWith("csrf_token_"))?.[1] ?? ""
    const person = Effect.promise(() => makePerson(idp))
    const sessionOf = (one: Person) =>
      Effect.map(
        Effect.promise(() => cookieOf(idp, one)),
        (found) => Redacted.value(found.value)
      )
    const tokenFor = (one: Person) =>
      Effect.map(
        Effect.promise(() => tokenOf(idp, one)),
        (found) => Redacted.value(found.value)
      )

    it.effect("redirects browsers to its forms and back", () =>
      Effect.gen(function* () {
        const one = yield* person
        const idp_session = yield* sessionOf(one)
        const signedIn = { headers: { cookie: `idp_session=${idp_session}` } }
        const back = encodeURIComponent(`${app}/x?y=z`)
        const login = yield* call(`/self-service/login/browser?return_to=${back}`)
        assert.strictEqual(brief(login), `303 ${pages}/login`)
        assert.match(login.query.get("flow") ?? "", /^[0-9a-f-]{36}$/)
        assert.strictEqual(brief(yield* call("/self-service/settings/browser", signedIn)), `303 ${pages}/settings`)
        const settings = yield* call("/self-service/settings/browser")
        assert.strictEqual(brief(settings), `303 ${idp.publicUrl}/self-service/login/browser`)
        const straight = yield* call(`/self-service/login/browser?return_to=${back}`, signedIn)
        assert.strictEqual(brief(straight), `303 ${app}/x`)
        assert.strictEqual(straight.query.get("y"), "z")
        const again = yield* call(`/self-service/login/browser?refresh=true&return_to=${back}`, signedIn)
        assert.strictEqual(brief(again), `303 ${pages}/login`)
        const recovery = yield* call("/self-service/recovery/browser")
        assert.strictEqual(brief(recovery), `303 ${pages}/recovery`)

        // The page reads its form with the cookies of the browser, which submits it.
        const page = { headers: { ...json, ...cookies(login.cookies) } }
        const id = login.query.get("flow") ?? ""
        assert.strictEqual((yield* call(`/self-service/login/flows?id=${id}`, page)).status, 200)
        const foreign = yield* call(`/self-service/login/flows?id=${id}`, { headers: json })
        assert.strictEqual(brief(foreign), "403 security_csrf_violation")
        const form = { method: "password", identifier: one.email, csrf_token: csrfOf(login) }
        const headers = cookies(login.cookies)
        const wrong = yield* call(`/self-service/login?flow=${id}`, { headers, form: { ...form, password: "wrong" } })
        assert.strictEqual(brief(wrong), `303 ${pages}/login`)
        assert.strictEqual(wrong.query.get("flow"), id)
        const done = yield* call(`/self-service/login?flow=${id}`, {
          headers,
          form: { ...form, password: one.password }
        })
        assert.strictEqual(brief(done), `303 ${app}/x`)
        assert.isString(done.cookies["idp_session"])
      })
    )

    it.effect("requires the second factor of browsers, and redirects back if it is not requested", () =>
      Effect.gen(function* () {
        const one = yield* person
        const totp = yield* enrolTotp(yield* Effect.promise(() => tokenOf(idp, one)))
        const idp_session = yield* sessionOf(one)
        const headers = { cookie: `idp_session=${idp_session}` }
        const back = encodeURIComponent(`${app}/x`)
        assert.strictEqual(
          brief(yield* call(`/self-service/login/browser?return_to=${back}`, { headers })),
          `303 ${app}/x`
        )
        const started = yield* call(`/self-service/login/browser?aal=aal2&return_to=${back}`, { headers })
        assert.strictEqual(brief(started), `303 ${pages}/login`)
        const form = { method: "totp", totp_code: totp(), csrf_token: csrfOf(started) }
        const done = yield* call(`/self-service/login?flow=${started.query.get("flow")}`, {
          headers: cookies({ idp_session, ...started.cookies }),
          form
        })
        assert.strictEqual(brief(done), `303 ${app}/x`)
        const { session } = yield* (yield* IdP)
          .session(yield* Effect.promise(() => cookieOf(idp, one)))
          .pipe(Effect.catchTag("StepUpRequired", () => Effect.succeed({ session: undefined })))
        assert.isUndefined(session, "only that session was raised")
        const whoami = yield* call("/sessions/whoami", { headers: { ...json, ...headers } })
        assert.strictEqual(whoami.body["authenticator_assurance_level"], "aal2")
      })
    )

    it.effect("reports refusals in JSON", () =>
      Effect.gen(function* () {
        const one = yield* person
        const idp_session = yield* sessionOf(one)
        const token = yield* tokenFor(one)
        const mine = { headers: { ...json, cookie: `idp_session=${idp_session}` } }
        const byToken = { ...json, "x-session-token": token }
        const login = "/self-service/login/browser"
        const evil = encodeURIComponent("http://elsewhere.example/")
        const expected: ReadonlyArray<readonly [string, Sent, string]> = [
          ["/sessions/whoami", { headers: json }, "401"],
          ["/sessions/whoami", { headers: { ...byToken, cookie: "idp_session=xx" } }, "500"],
          ["/sessions/whoami", { headers: { ...json, authorization: `Bearer ${token}` } }, "200"],
          ["/self-service/settings/browser", { headers: json }, "401 session_inactive"],
          [`${login}?return_to=${evil}`, { headers: json }, "400 self_service_flow_return_to_forbidden"],
          [login, mine, "400 session_already_available"],
          [`${login}?aal=aal2`, { headers: json }, "401 session_aal1_required"],
          ["/self-service/recovery/api", mine, "400 session_already_available"],
          [`/self-service/settings/flows?id=${unknownId}`, { headers: byToken }, "404"],
          ["/self-service/settings/flows?id=x", { headers: byToken }, "404"],
          [`/self-service/settings?flow=${unknownId}`, { headers: byToken, json: { method: "totp" } }, "404"],
          ["/self-service/settings?flow=x", { headers: byToken, json: { method: "totp" } }, "400"],
          [`/self-service/login?flow=${unknownId}`, { headers: json, json: { method: "password" } }, "404"],
          [`/self-service/recovery?flow=${unknownId}`, { headers: json, json: { method: "link" } }, "404"],
          ["/sessions/x", { method: "DELETE", headers: byToken }, "400"],
          [`/sessions/${unknownId}`, { method: "DELETE", headers: byToken }, "204"],
          ["/self-service/logout/browser", { headers: json }, "401 session_inactive"],
          ["/self-service/logout?token=x", mine, "403"],
          ["/self-service/logout/api", { method: "DELETE", headers: json, json: { session_token: "x" } }, "403"]
        ]
        for (const [path, sent, answer] of expected) {
          assert.strictEqual(brief(yield* call(path, sent)), answer, `${path} ${JSON.stringify(sent.headers)}`)
        }
      })
    )

    it.effect("requires a CSRF pair of browsers, and none of other clients", () =>
      Effect.gen(function* () {
        const one = yield* person
        const token = { ...json, "x-session-token": yield* tokenFor(one) }
        const flow = yield* call("/self-service/settings/browser", { headers: token })
        const path = `/self-service/settings?flow=${String(flow.body["id"])}`
        const body = { method: "lookup_secret", lookup_secret_regenerate: true }
        const pair = cookies(flow.cookies)
        const raw = Buffer.from(csrfOf(flow), "base64")
        const key = Buffer.alloc(32, 7)
        const masked = Buffer.concat([key, raw.map((byte) => byte ^ 7)]).toString("base64")
        const tries: ReadonlyArray<readonly [Readonly<Record<string, string>>, string | undefined, string]> = [
          [{}, csrfOf(flow), "403 security_csrf_violation"],
          [pair, undefined, "403 security_csrf_violation"],
          [pair, Buffer.alloc(32).toString("base64"), "403 security_csrf_violation"],
          [pair, csrfOf(flow), "200 form "],
          [pair, masked, "200 form "]
        ]
        for (const [headers, csrf_token, answer] of tries) {
          const sent = { headers: { ...token, ...headers }, json: { ...body, csrf_token } }
          assert.strictEqual(brief(yield* call(path, sent)).trim(), answer.trim())
        }
        const api = yield* call("/self-service/login/api", { headers: json })
        const submit = (headers: Readonly<Record<string, string>>, password: string) =>
          call(`/self-service/login?flow=${String(api.body["id"])}`, {
            headers: { ...json, ...headers },
            json: { method: "password", identifier: one.email, password }
          })
        assert.strictEqual((yield* submit({ cookie: "a=b" }, one.password)).status, 400)
        assert.strictEqual((yield* submit({ origin: app }, one.password)).status, 400)
        assert.strictEqual(brief(yield* submit({}, "wrong")), "400 form 4000006")
        const done = yield* submit({}, one.password)
        assert.match(String(done.body["session_token"]), /^ory_st_\w+$/)
        assert.deepStrictEqual(done.cookies, {})
      })
    )

    it.effect("ends a browser's session at its logout URL", () =>
      Effect.gen(function* () {
        const idp_session = yield* sessionOf(yield* person)
        const headers = { cookie: `idp_session=${idp_session}` }
        const begun = yield* call("/self-service/logout/browser", { headers: { ...json, ...headers } })
        const { pathname, search } = new URL(String(begun.body["logout_url"]))
        const ended = yield* call(`${pathname}${search}`, { headers })
        assert.strictEqual(brief(ended), `303 ${pages}/`)
        assert.isTrue(ended.setCookies.some((line) => /^idp_session=.*; Max-Age=0/.test(line)))
        assert.strictEqual(brief(yield* call("/sessions/whoami", { headers: { ...json, ...headers } })), "401")
      })
    )

    it.effect("recovers an account by the link of a message, opened in a browser", () =>
      Effect.gen(function* () {
        const one = yield* person
        const begun = yield* call("/self-service/recovery/browser", { headers: json })
        const sent = yield* call(`/self-service/recovery?flow=${String(begun.body["id"])}`, {
          headers: { ...json, ...cookies(begun.cookies) },
          json: { method: "link", email: one.email, csrf_token: csrfOf(begun) }
        })
        assert.strictEqual(brief(sent), "200 form 1060002")
        assert.strictEqual(sent.body["state"], "sent_email")
        const [message] = yield* Effect.promise(() => messagesTo(idp, one.email))
        const link = new URL(/http\S+token=\w+/.exec(message ?? "")?.[0] ?? "")
        const opened = yield* call(`${link.pathname}${link.search}`)
        assert.strictEqual(brief(opened), `303 ${pages}/settings`)
        assert.isString(opened.cookies["idp_session"])
        const again = yield* call(`${link.pathname}${link.search}`)
        assert.strictEqual(brief(again), `303 ${pages}/recovery`)
        assert.isUndefined(again.cookies["idp_session"])
        const { addresses } = yield* (yield* IdP).identity(one.id)
        assert.deepStrictEqual(addresses, [{ value: one.email, verified: true }])
      })
    )
  })
