import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { MfaStatus } from "../../domain/identity/SecondFactors.ts"
import { SessionSummary, IdentitySession } from "../../domain/identity/Identity.ts"
import { isPlain } from "../../domain/text/StorableText.ts"
import { BrowserRequests, SessionNeeded } from "../access/BrowserRequests.ts"
import { Success, Utf8Bodies } from "../wire/Body.ts"
import { accountErrors, identityErrors as error } from "./Errors.ts"

/** `return_to`: the page of this service or the dashboard to which a step-up returns. */
const query = { return_to: Schema.optionalKey(Schema.String) }
const text = (maxLength: number) => Schema.String.check(Schema.isBetweenLength(1, maxLength), isPlain)
const FlowId = text(100)
const Credential = text(128 * 1024)
const Email = text(320).check(
  Schema.makeFilter((value: string) => /^[^\s@]+@[^\s@]+$/.test(value) || "Expected an e-mail address")
)
const Removed = Schema.Struct({ success: Schema.Literal(true), recovery_codes_removed: Schema.Boolean })
const summary = (summary: string, description?: string) =>
  OpenApi.annotations(description === undefined ? { summary } : { summary, description })

/** Second factors, sign-in and sessions (spec: Multi-factor and sign-in). */
export class AuthApi extends HttpApiGroup.make("auth")
  .add(
    HttpApiEndpoint.get("mfaStatus", "/mfa/status", { query, success: MfaStatus, error }).annotateMerge(
      summary("Show my second factors")
    ),
    HttpApiEndpoint.post("totpSetup", "/mfa/totp/setup", {
      query,
      success: Schema.Struct({ flow_id: Schema.String, totp_url: Schema.String, totp_secret: Schema.String }),
      error
    }).annotateMerge(summary("Start adding an authenticator app")),
    HttpApiEndpoint.post("totpVerify", "/mfa/totp/verify", {
      query,
      payload: Schema.Struct({
        flow_id: FlowId,
        totp_code: Schema.String.check(Schema.isPattern(/^(?: *\d){6} *$/), Schema.isMaxLength(20))
      }),
      success: Success,
      error
    }).annotateMerge(summary("Add the authenticator app, by a code that it shows")),
    HttpApiEndpoint.delete("totpRemove", "/mfa/totp", { query, success: Removed, error }).annotateMerge(
      summary("Remove the authenticator app", "Removing the last second factor also removes the recovery codes.")
    ),
    HttpApiEndpoint.post("webauthnSetup", "/mfa/webauthn/setup", {
      query,
      success: Schema.Struct({
        flow_id: Schema.String,
        webauthn_options: Schema.Struct({ publicKey: Schema.Unknown })
      }),
      error
    }).annotateMerge(summary("Start adding a security key")),
    HttpApiEndpoint.post("webauthnVerify", "/mfa/webauthn/verify", {
      query,
      payload: Schema.Struct({
        flow_id: FlowId,
        webauthn_register: Credential,
        webauthn_register_displayname: Schema.optionalKey(Schema.Union([text(100), Schema.Literal("")]))
      }),
      success: Success,
      error
    }).annotateMerge(summary("Add the security key, by the credential that it created")),
    HttpApiEndpoint.delete("webauthnRemove", "/mfa/webauthn", {
      query,
      // A misspelled name must not remove all keys.
      payload: [Schema.Struct({ credential_id: Schema.optionalKey(text(2048)) }), Schema.Void],
      success: Removed,
      error
    }).annotateMerge(
      summary(
        "Remove one security key, or all",
        "`credential_id` in base64url, base64 or hex. Removing the last second factor also removes the recovery codes."
      )
    ),
    HttpApiEndpoint.post("recoveryCodesGenerate", "/mfa/recovery-codes/generate", {
      query,
      success: Schema.Struct({ flow_id: Schema.String, codes: Schema.Array(Schema.String) }),
      error
    }).annotateMerge(summary("Generate new recovery codes; they become valid once confirmed")),
    HttpApiEndpoint.post("recoveryCodesConfirm", "/mfa/recovery-codes/confirm", {
      query,
      payload: Schema.Struct({ flow_id: FlowId }),
      success: Success,
      error
    }).annotateMerge(summary("Confirm the new recovery codes, which replace the old ones")),
    HttpApiEndpoint.delete("recoveryCodesRemove", "/mfa/recovery-codes", {
      query,
      success: Success,
      error
    }).annotateMerge(summary("Revoke all recovery codes")),

    HttpApiEndpoint.get("session", "/session", {
      query,
      success: Schema.Struct({ ...IdentitySession.fields, admin: Schema.Boolean }),
      error
    }).annotateMerge(summary("Show my session, and whether I may use the management API")),
    HttpApiEndpoint.get("sessions", "/sessions", {
      query,
      success: Schema.Array(SessionSummary),
      error
    }).annotateMerge(summary("List my sessions, the current one first")),
    HttpApiEndpoint.delete("sessionsRevoke", "/sessions", {
      query,
      success: Schema.Struct({ success: Schema.Literal(true), revoked: Schema.Int }),
      error
    }).annotateMerge(summary("End all my sessions but the current one")),
    HttpApiEndpoint.delete("sessionRevoke", "/sessions/:id", {
      params: { id: text(100) },
      query,
      success: Success,
      error
    }).annotateMerge(summary("End one of my other sessions"))
  )
  .middleware(SessionNeeded)
  .add(
    HttpApiEndpoint.get("passkeyOptions", "/login/passkey", {
      success: Schema.Struct({
        flow_id: Schema.String,
        passkey_options: Schema.Struct({ publicKey: Schema.Unknown })
      }),
      error
    }).annotateMerge(summary("Start signing in with a passkey")),
    HttpApiEndpoint.post("passkeyLogin", "/login/passkey", {
      query,
      payload: Schema.Struct({
        flow_id: FlowId,
        passkey_login: Credential,
        token: Schema.optionalKey(Schema.Boolean)
      }),
      success: Schema.Struct({ session: IdentitySession, session_token: Schema.optionalKey(Schema.String) }),
      error: accountErrors
    }).annotateMerge(
      summary(
        "Sign in with a passkey; the response sets the session cookie",
        "`token: true` returns `session_token` instead, also with 403 `aal2_required`; with IDP_PUBLIC_URL that is 501 `USE_IDP`."
      )
    ),
    HttpApiEndpoint.get("recovery", "/recovery", {
      success: Schema.Struct({
        id: Schema.String,
        state: Schema.Literal("choose_method"),
        expires_at: Schema.NullOr(Schema.String)
      }),
      error
    }).annotateMerge(summary("Start recovering an account")),
    HttpApiEndpoint.post("recoverySend", "/recovery", {
      payload: Schema.Struct({
        flowId: FlowId,
        email: Email,
        method: Schema.optionalKey(Schema.Literal("link"))
      }),
      success: Schema.Struct({ success: Schema.Literal(true), state: Schema.Literal("sent_email") }),
      error
    }).annotateMerge(
      summary("Send a recovery link if the address belongs to an account; the response is the same either way")
    ),
    HttpApiEndpoint.post("logout", "/logout", { success: Success, error }).annotateMerge(
      summary("End the current session and clear its cookies")
    )
  )
  .middleware(Utf8Bodies)
  .middleware(BrowserRequests)
  .prefix("/api/auth")
  .annotateMerge(
    OpenApi.annotations({
      title: "Sign-in and second factors",
      description: "For the user whose session the request carries"
    })
  ) {}
