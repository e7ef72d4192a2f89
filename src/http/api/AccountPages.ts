import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Page } from "./ConsentPage.ts"

const Form = Schema.Record(Schema.String, Schema.String).pipe(HttpApiSchema.asFormUrlEncoded())
const query = { return_to: Schema.optionalKey(Schema.String) }
const summary = (summary: string) => OpenApi.annotations({ summary })

const show = <const Name extends string>(name: Name, text: string) =>
  HttpApiEndpoint.get(`show ${name}`, `/auth/${name}`, { query, success: Page }).annotateMerge(summary(text))
const answer = <const Name extends string>(name: Name) =>
  HttpApiEndpoint.post(`answer ${name}`, `/auth/${name}`, { payload: Form, success: Page }).annotateMerge(
    summary("Submit the form of that page")
  )

/** Contract of http/handlers/accounts, for the OpenAPI document. */
export class AccountPagesApi extends HttpApiGroup.make("accountPages")
  .add(show("login", "Sign in with a password"), answer("login"))
  .add(show("passkey", "Sign in with a passkey"), answer("passkey"))
  .add(show("register", "Create an account"), answer("register"))
  .add(show("factor", "Complete a session with a second factor"), answer("factor"))
  .add(show("recovery", "Recover an account"), answer("recovery"))
  .add(show("verify", "Confirm an address"), answer("verify"))
  .add(show("password", "Choose a new password"), answer("password"))
  .add(show("account", "Show and change my account"), answer("account"))
  .add(show("keys", "Add a passkey or security key"), answer("keys"))
  .add(show("signed-out", "Shown after signing out"))
  .add(show("administrator", "Become the first administrator, by the link of the start"), answer("administrator"))
  .add(
    HttpApiEndpoint.post("with", "/auth/with", { payload: Form, success: Page }).annotateMerge(
      summary("Continue to another service to sign in there (SVC_SIGN_IN_WITH)")
    )
  )
  .add(
    HttpApiEndpoint.get("callback", "/auth/callback/:provider", {
      params: { provider: Schema.String },
      success: Page
    }).annotateMerge(summary("Where that service returns to"))
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Account pages",
      description:
        "Pages of the embedded identity provider. They need no JavaScript but for passkeys and security keys."
    })
  ) {}
