import { Effect, Schema } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { InvalidRequest } from "../../../domain/errors.ts"
import {
  anonymousDisabled,
  validationFailed,
  phoneDisabled,
  signupDisabled
} from "../../../domain/supabase/AuthErrors.ts"
import { AccountSettings } from "../../../services/identity/AccountSettings.ts"
import { OwnSigningKeys } from "../../../services/access/OwnSigningKeys.ts"
import {
  bodyOf,
  bool,
  challengeOf,
  empty,
  json,
  makeAuthRoutes,
  object,
  objectOr,
  pkce,
  present,
  shortText,
  token
} from "./Access.ts"

const SignUp = Schema.Struct({ email: shortText, phone: shortText, password: shortText, data: object, ...pkce })
const Token = Schema.Struct({
  email: shortText,
  phone: shortText,
  password: shortText,
  refresh_token: shortText,
  auth_code: shortText,
  code_verifier: shortText,
  provider: shortText,
  id_token: token,
  access_token: token,
  nonce: shortText,
  link_identity: bool
})
const Mailed = Schema.Struct({
  email: shortText,
  phone: shortText,
  type: shortText,
  data: object,
  create_user: bool,
  ...pkce
})

const signUpOf = bodyOf(SignUp)
const tokenOf = bodyOf(Token)
const mailedOf = bodyOf(Mailed)

const noGrant = new InvalidRequest({ error: "unsupported_grant_type", code: "validation_failed" })
const noWeb3 = new InvalidRequest({ error: "Web3 is not supported by this server", code: "web3_provider_disabled" })

/** `/auth/v1`: signing up and in, and the mails that do. */
export const AuthSignInRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { enabled, on, settings } = yield* makeAuthRoutes(router)
    if (!enabled) return
    const { registration, verifyFirst } = yield* AccountSettings
    const keys = yield* OwnSigningKeys

    // The response is the same with every identity provider.
    const health = { name: "GoTrue", description: "The sign-in API of Supabase's clients", version: "svc" }
    yield* router.add("GET", "/auth/v1/health", Effect.succeed(json(health)))
    yield* router.add(
      "GET",
      "/auth/v1/.well-known/jwks.json",
      Effect.map(keys.publicSet, (set) => json(set))
    )
    yield* on("GET", "/settings", "key", ({ calls }) =>
      Effect.succeed(
        json({
          external: {
            email: true,
            phone: false,
            anonymous_users: settings.anonymous,
            ...Object.fromEntries(calls.providers.map((id) => [id, true]))
          },
          disable_signup: !registration,
          mailer_autoconfirm: !verifyFirst,
          phone_autoconfirm: false,
          sms_provider: "",
          saml_enabled: false,
          mfa_enabled: true,
          passkeys_enabled: true
        })
      )
    )

    yield* on("POST", "/signup", "key", (call) =>
      Effect.gen(function* () {
        const { data, email, password, phone, ...given } = yield* signUpOf(call)
        if (phone != null && phone !== "") return yield* phoneDisabled
        if (email == null || email === "") {
          if (password != null && password !== "")
            return yield* validationFailed("To signup, please provide your email")
          if (!settings.anonymous) return yield* anonymousDisabled
          if (!registration) return yield* signupDisabled
          return json(yield* call.calls.signInAnonymously(objectOr(data)))
        }
        if (password == null || password === "") return yield* validationFailed("Signup requires a valid password")
        const { redirectTo } = call
        const challenge = yield* challengeOf(given)
        const made = yield* call.calls.signUp({ email, password, data: objectOr(data), challenge, redirectTo })
        return json("access_token" in made ? made : made.user)
      })
    )

    yield* on("POST", "/token", "key", (call) =>
      Effect.gen(function* () {
        const grant = call.query.get("grant_type")
        const given = yield* tokenOf(call)
        if (grant === "password") {
          if (given.phone != null && given.phone !== "") return yield* phoneDisabled
          return json(yield* call.calls.signIn(given.email ?? "", given.password ?? ""))
        }
        if (grant === "refresh_token") return json(yield* call.calls.refresh(given.refresh_token ?? ""))
        if (grant === "pkce") {
          return json(yield* call.calls.exchange(given.auth_code ?? "", given.code_verifier ?? ""))
        }
        if (grant === "id_token") {
          const idToken = present(given.id_token)
          if (idToken === undefined) return yield* validationFailed("id_token required")
          const linkTo = given.link_identity === true ? yield* call.session : undefined
          const tokens = { idToken, accessToken: present(given.access_token), nonce: present(given.nonce) }
          return json(yield* call.calls.useIdToken(given.provider ?? "", tokens, linkTo))
        }
        return yield* grant === "web3" ? noWeb3 : noGrant
      })
    )

    /** The address of a mail; this server sends no messages to phones. */
    const mailOf = (call: Parameters<typeof mailedOf>[0]) =>
      Effect.gen(function* () {
        const { phone, ...given } = yield* mailedOf(call)
        if (phone != null && phone !== "") return yield* phoneDisabled
        const challenge = yield* challengeOf(given)
        return { ...given, request: { email: given.email ?? "", challenge, redirectTo: call.redirectTo } }
      })

    yield* on("POST", "/otp", "key", (call) =>
      Effect.gen(function* () {
        const { create_user, data, request } = yield* mailOf(call)
        yield* call.calls.sendOtp({ ...request, createUser: create_user ?? true, data: objectOr(data) })
        return empty
      })
    )
    // Former name, of clients that send no `create_user`.
    yield* on("POST", "/magiclink", "key", (call) =>
      Effect.gen(function* () {
        const { data, request } = yield* mailOf(call)
        yield* call.calls.sendOtp({ ...request, createUser: true, data: objectOr(data) })
        return empty
      })
    )
    yield* on("POST", "/recover", "key", (call) =>
      Effect.gen(function* () {
        const { request } = yield* mailOf(call)
        yield* call.calls.sendRecovery(request)
        return empty
      })
    )
    yield* on("POST", "/resend", "key", (call) =>
      Effect.gen(function* () {
        const { request, type } = yield* mailOf(call)
        if (type !== "signup" && type !== "email_change")
          return yield* validationFailed("type must be signup or email_change")
        yield* call.calls.resend({ ...request, kind: type })
        return empty
      })
    )
    yield* on("POST", "/logout", "key", (call) =>
      Effect.gen(function* () {
        const scope = call.query.get("scope") ?? "global"
        if (scope !== "global" && scope !== "local" && scope !== "others")
          return yield* validationFailed("Unsupported logout scope")
        yield* call.calls.logout(yield* call.session, scope)
        return HttpServerResponse.empty({ status: 204 })
      })
    )
  })
)
