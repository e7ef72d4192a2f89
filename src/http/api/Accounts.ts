import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Unavailable } from "../../domain/errors.ts"
import { Identity, IdentitySession } from "../../domain/identity/Identity.ts"
import { JsonObjectSchema } from "../../domain/text/JsonObjectSchema.ts"
import { isPlain } from "../../domain/text/StorableText.ts"
import { BrowserRequests } from "../access/BrowserRequests.ts"
import { Success, Utf8Bodies } from "../wire/Body.ts"
import { accountErrors as error } from "./Errors.ts"

const query = { return_to: Schema.optionalKey(Schema.String) }
const text = (maxLength: number) => Schema.String.check(Schema.isBetweenLength(1, maxLength), isPlain)
/** The layer checks new passwords; this limits their length only. */
const Password = Schema.String.check(Schema.isBetweenLength(1, 4096))
const Email = text(320)
const FlowId = text(100)
const Credential = text(128 * 1024)
const KeyId = text(2048)
/** Apps without cookies ask for the session's token. */
const token = Schema.optionalKey(Schema.Boolean)

const SignedIn = Schema.Struct({ session: IdentitySession, session_token: Schema.optionalKey(Schema.String) })
const Sent = Schema.Struct({ state: Schema.Literal("sent_email"), flowId: Schema.String })
const Challenge = Schema.Struct({ flow_id: Schema.String, options: Schema.Struct({ publicKey: Schema.Unknown }) })

const PasskeyRecord = Schema.Struct({
  id: Schema.String,
  display_name: Schema.String,
  added_at: Schema.String,
  last_used_at: Schema.NullOr(Schema.String),
  backed_up: Schema.Boolean
}).annotate({ identifier: "Passkey" })

/**
 * The content of a message: its code, or the token of its link. `session_token`: return a token instead of a cookie.
 */
const Proof = Schema.Union([
  Schema.Struct({ flowId: FlowId, code: text(20), session_token: token }),
  Schema.Struct({ flowId: FlowId, token: text(100), session_token: token })
])

/** `password`: the one that was chosen, for the link of a registration. */
const Confirmation = Schema.Union([
  Schema.Struct({ flowId: FlowId, code: text(20), session_token: token }),
  Schema.Struct({
    flowId: FlowId,
    token: text(100),
    password: Schema.optionalKey(Password),
    session_token: token
  })
])

const summary = (summary: string, description?: string) =>
  OpenApi.annotations(description === undefined ? { summary } : { summary, description })

/** Accounts of the embedded identity provider: for apps that have their own pages. */
export class AccountsApi extends HttpApiGroup.make("accounts")
  .add(
    HttpApiEndpoint.get("methods", "/methods", {
      success: Schema.Struct({
        password: Schema.Boolean,
        passkey: Schema.Boolean,
        registration: Schema.Boolean,
        mail: Schema.Boolean,
        verification: Schema.Boolean,
        /** Other services at which people can sign in. */
        providers: Schema.Array(Schema.Struct({ id: Schema.String, label: Schema.String }))
      }),
      error
    }).annotateMerge(summary("Show how people can sign in")),
    HttpApiEndpoint.post("register", "/register", {
      query,
      payload: Schema.Struct({ email: Email, password: Password, traits: Schema.optionalKey(JsonObjectSchema), token }),
      success: [SignedIn.pipe(HttpApiSchema.status(201)), Sent.pipe(HttpApiSchema.status(202))],
      error
    }).annotateMerge(
      summary(
        "Create an account and sign in",
        "With SVC_AUTH_VERIFY=required the response is 202, also for an address that has an account, and `/verification/confirm` creates the account. `token: true` returns `session_token` instead of setting a cookie."
      )
    ),
    HttpApiEndpoint.post("login", "/login", {
      query,
      payload: Schema.Struct({ identifier: Email, password: Password, token }),
      success: SignedIn,
      error
    }).annotateMerge(
      summary(
        "Sign in with a password",
        "403 `aal2_required`: a second factor is due; the session cookie is set, or `session_token` returned, for `/login/factor`."
      )
    ),
    HttpApiEndpoint.get("factor", "/login/factor", {
      success: Schema.Struct({
        totp: Schema.Boolean,
        webauthn: Schema.NullOr(Challenge),
        recovery_codes: Schema.Boolean
      }),
      error
    }).annotateMerge(summary("Show the second factors that can complete the session")),
    HttpApiEndpoint.post("showFactor", "/login/factor", {
      query,
      payload: Schema.Union([
        Schema.Struct({ method: Schema.Literals(["totp", "lookup_secret"]), code: text(20) }),
        Schema.Struct({ method: Schema.Literal("webauthn"), flow_id: FlowId, assertion: Credential })
      ]),
      success: SignedIn,
      error
    }).annotateMerge(summary("Complete the session with a second factor; five wrong codes end it")),
    HttpApiEndpoint.post("reauthenticate", "/reauthenticate", {
      query,
      payload: Schema.Struct({ password: Password }),
      success: SignedIn,
      error
    }).annotateMerge(summary("Enter the password again, for calls that need a recent sign-in")),
    HttpApiEndpoint.post("recoveryConfirm", "/recovery/confirm", {
      query,
      payload: Proof,
      success: Schema.Struct({ ...SignedIn.fields, password_due: Schema.Literal(true) }),
      error
    }).annotateMerge(
      summary(
        "Sign in by a recovery message",
        "By its code, or the token of its link. If the address was never confirmed before, every password and factor of the account is removed first. Set a new password with PUT /password, which ends all other sessions."
      )
    ),
    HttpApiEndpoint.post("verification", "/verification", {
      payload: Schema.Struct({ email: Email }),
      success: Sent,
      error
    }).annotateMerge(summary("Send a message that confirms an address; the response is the same for every address")),
    HttpApiEndpoint.post("verificationConfirm", "/verification/confirm", {
      query,
      payload: Confirmation,
      success: Schema.Struct({
        success: Schema.Literal(true),
        session: Schema.NullOr(IdentitySession),
        session_token: Schema.optionalKey(Schema.String)
      }),
      error
    }).annotateMerge(
      summary(
        "Confirm an address, of an account, a change, or a registration, which also signs in",
        "A change is confirmed in the session that requested it. The link of a registration needs its `password`: another person may have registered the address."
      )
    ),
    HttpApiEndpoint.post("accessToken", "/token", {
      query,
      success: Schema.Struct({
        access_token: Schema.String,
        token_type: Schema.Literal("Bearer"),
        expires_in: Schema.Int
      }),
      error
    }).annotateMerge(
      summary(
        "Get a JWT for /v1 from the session",
        "Valid for 10 minutes. Send it with an anon key as `Authorization: Bearer`: policies see `sub`, the id of the identity, as `auth.uid()`. Others verify it with the keys at /.well-known/jwks.json."
      )
    ),

    HttpApiEndpoint.put("password", "/password", {
      query,
      payload: Schema.Struct({ password: Password }),
      success: SignedIn,
      error
    }).annotateMerge(summary("Set a new password; needs a recent sign-in, and ends all other sessions")),
    HttpApiEndpoint.get("account", "/account", { query, success: Identity, error }).annotateMerge(
      summary("Show my account")
    ),
    HttpApiEndpoint.patch("setAccount", "/account", {
      query,
      payload: Schema.Struct({ traits: JsonObjectSchema }),
      success: Identity,
      error
    }).annotateMerge(summary("Replace my traits; `email` stays")),
    HttpApiEndpoint.delete("removeAccount", "/account", { query, success: Success, error }).annotateMerge(
      summary("Delete my account; needs a recent sign-in")
    ),
    HttpApiEndpoint.post("email", "/account/email", {
      query,
      payload: Schema.Struct({ email: Email }),
      success: Sent,
      error
    }).annotateMerge(summary("Change my address, once the message that it gets is confirmed; needs a recent sign-in")),
    HttpApiEndpoint.get("passkeys", "/passkeys", {
      query,
      success: Schema.Array(PasskeyRecord),
      error
    }).annotateMerge(summary("List my passkeys")),
    HttpApiEndpoint.post("passkeySetup", "/passkeys/setup", { query, success: Challenge, error }).annotateMerge(
      summary("Start adding a passkey")
    ),
    HttpApiEndpoint.post("passkeyVerify", "/passkeys/verify", {
      query,
      payload: Schema.Struct({
        flow_id: FlowId,
        credential: Credential,
        display_name: Schema.optionalKey(Schema.Union([text(100), Schema.Literal("")]))
      }),
      success: PasskeyRecord.pipe(HttpApiSchema.status(201)),
      error
    }).annotateMerge(summary("Add the passkey, by the credential that it created")),
    HttpApiEndpoint.patch("passkeyRename", "/passkeys/:id", {
      params: { id: KeyId },
      query,
      payload: Schema.Struct({ display_name: text(100) }),
      success: PasskeyRecord,
      error
    }).annotateMerge(summary("Rename a passkey")),
    HttpApiEndpoint.delete("passkeyRemove", "/passkeys/:id", {
      params: { id: KeyId },
      query,
      success: Success,
      error
    }).annotateMerge(summary("Remove a passkey; needs a recent sign-in"))
  )
  .middleware(Utf8Bodies)
  .middleware(BrowserRequests)
  .prefix("/api/auth")
  .annotateMerge(
    OpenApi.annotations({
      title: "Accounts",
      description:
        "Registration, passwords and passkeys of the embedded identity provider. With IDP_PUBLIC_URL, all but `/token` are 501 `USE_IDP`."
    })
  ) {}

/** The public keys that verify this service's tokens. */
export class SigningKeysApi extends HttpApiGroup.make("signingKeys")
  .add(
    HttpApiEndpoint.get("jwks", "/.well-known/jwks.json", {
      success: Schema.Struct({ keys: Schema.Array(Schema.Record(Schema.String, Schema.Unknown)) }),
      error: [Unavailable]
    }).annotateMerge(summary("Get the public keys that verify this service's tokens (RFC 7517)"))
  )
  .annotateMerge(OpenApi.annotations({ title: "Signing keys" })) {}
