import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { JsonObjectSchema } from "../../domain/text/JsonObjectSchema.ts"

const text = Schema.optionalKey(Schema.String)
const form = <Fields extends Schema.Struct.Fields>(fields: Fields) =>
  Schema.Struct(fields).pipe(HttpApiSchema.asFormUrlEncoded())

/** How clients authenticate: in the body, or by `Authorization: Basic`. */
const client = { client_id: text, client_secret: text, client_assertion: text, client_assertion_type: text }

const Tokens = Schema.Struct({
  access_token: Schema.String,
  token_type: Schema.String,
  expires_in: Schema.Int,
  scope: text,
  refresh_token: text,
  id_token: text
})

const summary = (summary: string, description?: string) =>
  OpenApi.annotations(description === undefined ? { summary } : { summary, description })

/** Contract of http/handlers/OAuth2Endpoints.ts, for the OpenAPI document. */
export class OAuth2EndpointsApi extends HttpApiGroup.make("oauth2Endpoints")
  .add(
    HttpApiEndpoint.get("authorize", "/oauth2/auth", {
      query: {
        client_id: Schema.String,
        response_type: Schema.Literal("code"),
        redirect_uri: text,
        scope: text,
        state: text,
        nonce: text,
        code_challenge: text,
        code_challenge_method: Schema.optionalKey(Schema.Literal("S256")),
        prompt: text,
        max_age: text,
        resource: text
      },
      success: HttpApiSchema.Empty(303)
    }).annotateMerge(summary("Sign a user in for a client (RFC 6749 4.1, OpenID Connect Core 3.1)")),
    HttpApiEndpoint.post("authorizeByForm", "/oauth2/auth", {
      payload: form({ client_id: Schema.String, response_type: Schema.Literal("code") }),
      success: HttpApiSchema.Empty(303)
    }).annotateMerge(summary("The same, with the parameters in a form")),
    HttpApiEndpoint.get("resume", "/oauth2/auth/:uid", {
      params: { uid: Schema.String },
      query: { verifier: text },
      success: HttpApiSchema.Empty(303)
    }).annotateMerge(summary("Continue a sign-in, with the answer of the bridge")),
    HttpApiEndpoint.post("token", "/oauth2/token", {
      payload: form({
        grant_type: Schema.Literals(["authorization_code", "refresh_token"]),
        code: text,
        redirect_uri: text,
        code_verifier: text,
        refresh_token: text,
        scope: text,
        resource: text,
        ...client
      }),
      success: Tokens
    }).annotateMerge(
      summary(
        "Exchange a code or a refresh token for tokens (RFC 6749 4.1.3, 6)",
        "A refresh token is valid once: each exchange returns a new one."
      )
    ),
    HttpApiEndpoint.get("userinfo", "/oauth2/userinfo", { success: JsonObjectSchema }).annotateMerge(
      summary("Show the claims of an access token's user (OpenID Connect Core 5.3)")
    ),
    HttpApiEndpoint.post("userinfoByForm", "/oauth2/userinfo", {
      payload: form({ access_token: text }),
      success: JsonObjectSchema
    }).annotateMerge(summary("The same, with the token in the header or the form")),
    HttpApiEndpoint.post("revoke", "/oauth2/revoke", {
      payload: form({ token: Schema.String, token_type_hint: text, ...client }),
      success: HttpApiSchema.Empty(200)
    }).annotateMerge(summary("Revoke a token of the client, with all tokens of its grant (RFC 7009)")),
    HttpApiEndpoint.post("introspect", "/oauth2/introspect", {
      payload: form({ token: Schema.String, token_type_hint: text, ...client }),
      success: JsonObjectSchema
    }).annotateMerge(summary("Show whether a token of the client is active (RFC 7662)")),
    HttpApiEndpoint.get("logout", "/oauth2/sessions/logout", {
      query: { id_token_hint: text, client_id: text, post_logout_redirect_uri: text, state: text },
      success: HttpApiSchema.Empty(303)
    }).annotateMerge(summary("Sign the user out (OpenID Connect RP-Initiated Logout 1.0)")),
    HttpApiEndpoint.post("logoutByForm", "/oauth2/sessions/logout", {
      payload: form({ id_token_hint: text, client_id: text, post_logout_redirect_uri: text, state: text }),
      success: HttpApiSchema.Empty(303)
    }).annotateMerge(summary("The same, with the parameters in a form")),
    HttpApiEndpoint.get("discovery", "/.well-known/openid-configuration", { success: JsonObjectSchema }).annotateMerge(
      summary("Describe the server (OpenID Connect Discovery 1.0)")
    ),
    HttpApiEndpoint.get("metadata", "/.well-known/oauth-authorization-server", {
      success: JsonObjectSchema
    }).annotateMerge(summary("Describe the server (RFC 8414)"))
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "OAuth 2.0 and OpenID Connect",
      description: "The embedded server. Failures have the fields of RFC 6749 5.2 beside those of all others."
    })
  ) {}
