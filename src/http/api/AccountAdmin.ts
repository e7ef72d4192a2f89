import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Identity, SessionSummary, SignInFactor } from "../../domain/identity/Identity.ts"
import { KratosIdentity } from "../../domain/identity/KratosIdentity.ts"
import { JsonObjectSchema } from "../../domain/text/JsonObjectSchema.ts"
import { isPlain } from "../../domain/text/StorableText.ts"
import { Mail } from "../../services/identity/Mails.ts"
import { Management } from "../access/Access.ts"
import { Success, Utf8Bodies } from "../wire/Body.ts"
import { accountErrors as error } from "./Errors.ts"

const text = (maxLength: number) => Schema.String.check(Schema.isBetweenLength(1, maxLength), isPlain)
const Id = text(100)
const State = Schema.Literals(["active", "inactive"])
const summary = (summary: string, description?: string) =>
  OpenApi.annotations(description === undefined ? { summary } : { summary, description })

const newAccount = {
  email: text(320),
  traits: Schema.optionalKey(JsonObjectSchema),
  metadata_public: Schema.optionalKey(JsonObjectSchema),
  verified: Schema.optionalKey(Schema.Boolean),
  state: Schema.optionalKey(State)
}
const PasswordHash = text(300)
const maxImport = 1000

const Imported = Schema.Struct({
  email: Schema.String,
  id: Schema.NullOr(Schema.String),
  /** Why this one was not imported. */
  error: Schema.NullOr(Schema.String),
  code: Schema.NullOr(Schema.String)
})

/** All accounts of the embedded identity provider, for operators. */
export class AccountAdminApi extends HttpApiGroup.make("accountAdmin")
  .add(
    HttpApiEndpoint.get("list", "/identities", {
      query: {
        page_size: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 250 }))),
        page_token: Schema.optionalKey(text(1000)),
        identifier: Schema.optionalKey(text(1000)),
        contains: Schema.optionalKey(text(320))
      },
      success: Schema.Struct({ identities: Schema.Array(Identity), next_page_token: Schema.NullOr(Schema.String) }),
      error
    }).annotateMerge(
      summary(
        "List accounts, or find those by an address",
        "`identifier` is a whole address, `contains` a part of one."
      )
    ),
    HttpApiEndpoint.post("create", "/identities", {
      payload: Schema.Struct({
        ...newAccount,
        password: Schema.optionalKey(Schema.String.check(Schema.isBetweenLength(1, 4096))),
        password_hash: Schema.optionalKey(PasswordHash),
        invite: Schema.optionalKey(Schema.Boolean)
      }),
      success: Schema.Struct({
        identity: Identity,
        /** A link with which its owner signs in and sets a password; null without `invite`. */
        recovery_link: Schema.NullOr(Schema.String)
      }).pipe(HttpApiSchema.status(201)),
      error
    }).annotateMerge(
      summary(
        "Create an account",
        "With `invite`, `recovery_link` signs its owner in once; the service does not send it."
      )
    ),
    HttpApiEndpoint.post("import", "/identities/import", {
      payload: Schema.Struct({
        identities: Schema.Array(
          Schema.Union([
            Schema.Struct({ ...newAccount, password_hash: Schema.optionalKey(PasswordHash) }),
            KratosIdentity
          ])
        ).check(Schema.isBetweenLength(1, maxImport))
      }),
      success: Schema.Struct({ results: Schema.Array(Imported) }),
      error
    }).annotateMerge(
      summary(
        `Create up to ${maxImport} accounts with their password hashes`,
        "argon2 as PHC strings, bcrypt as `$2a$`, `$2b$` or `$2y$`. Each result stands for itself: some may fail. Identities of an export are accepted too, and keep their ids."
      )
    ),
    HttpApiEndpoint.get("export", "/identities/export", {
      success: Schema.Array(KratosIdentity),
      error
    }).annotateMerge(
      summary(
        "Export all accounts, with their password hashes",
        "As Ory Kratos imports them: a JSON array of identities, which `POST /api/identities/import` accepts too. Needs a service_role key; an administrator's session is 403. Second factors and passkeys are not included."
      )
    ),
    HttpApiEndpoint.get("find", "/identities/:id", {
      params: { id: Id },
      success: Schema.Struct({ ...Identity.fields, factors: Schema.Array(SignInFactor) }),
      error
    }).annotateMerge(summary("Show an account, and what it can sign in with")),
    HttpApiEndpoint.patch("change", "/identities/:id", {
      params: { id: Id },
      payload: Schema.Struct({
        state: Schema.optionalKey(State),
        traits: Schema.optionalKey(JsonObjectSchema),
        metadata_public: Schema.optionalKey(JsonObjectSchema),
        verified: Schema.optionalKey(Schema.Boolean),
        updated_at: Schema.optionalKey(text(40))
      }),
      success: Identity,
      error
    }).annotateMerge(
      summary(
        "Change an account; `inactive` also ends its sessions",
        "With `updated_at` as it was read, a change of an account that has changed since is 409 `IDENTITY_CHANGED`."
      )
    ),
    HttpApiEndpoint.delete("remove", "/identities/:id", { params: { id: Id }, success: Success, error }).annotateMerge(
      summary("Delete an account")
    ),
    HttpApiEndpoint.get("sessions", "/identities/:id/sessions", {
      params: { id: Id },
      success: Schema.Struct({ sessions: Schema.Array(SessionSummary) }),
      error
    }).annotateMerge(summary("List the sessions of an account, the newest first")),
    HttpApiEndpoint.delete("endSessions", "/identities/:id/sessions", {
      params: { id: Id },
      success: Schema.Struct({ success: Schema.Literal(true), ended: Schema.Int }),
      error
    }).annotateMerge(summary("End all sessions of an account")),
    HttpApiEndpoint.delete("removeFactor", "/identities/:id/factors/:kind", {
      params: { id: Id, kind: Schema.Literals(["totp", "webauthn", "passkeys", "recovery_codes", "providers"]) },
      success: Success,
      error
    }).annotateMerge(summary("Remove a kind of factor of an account, for a person who has lost it")),
    HttpApiEndpoint.post("recovery", "/identities/:id/recovery", {
      params: { id: Id },
      success: Schema.Struct({ recovery_link: Schema.String, expires_at: Schema.String }).pipe(
        HttpApiSchema.status(201)
      ),
      error
    }).annotateMerge(summary("Create a link that signs the owner of an account in, once; it is shown only here")),
    HttpApiEndpoint.get("mails", "/mails", {
      query: {
        before: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThan(0))),
        recipient: Schema.optionalKey(text(320))
      },
      success: Schema.Struct({ mails: Schema.Array(Mail), next: Schema.NullOr(Schema.Int) }),
      error
    }).annotateMerge(
      summary(
        "List e-mails, the newest first",
        "`before` is `next` of the page before. The texts contain links that sign people in; they are deleted after a day."
      )
    ),
    HttpApiEndpoint.post("resend", "/mails/:id/resend", {
      params: { id: Schema.Int.check(Schema.isGreaterThan(0)) },
      success: Mail,
      error
    }).annotateMerge(summary("Send an e-mail again"))
  )
  .middleware(Utf8Bodies)
  .middleware(Management)
  .prefix("/api")
  .annotateMerge(
    OpenApi.annotations({
      title: "Account management",
      description: "With IDP_PUBLIC_URL, everything but the lists is 501 `USE_IDP`."
    })
  ) {}
