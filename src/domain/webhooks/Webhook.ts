import { Effect, Schema } from "effect"
import { isIP } from "node:net"
import { functionOfUrl } from "../functions/Function.ts"
import { isPublicAddress } from "../PublicAddress.ts"
import { Label } from "../access/ApiKey.ts"
import { isStorable } from "../text/StorableText.ts"
import { InvalidRequest, NotFound } from "../errors.ts"
import { headerProblems, isSecret } from "./Headers.ts"

export const WebhookId = Schema.Int.pipe(Schema.brand("WebhookId"))
export type WebhookId = typeof WebhookId.Type

export const webhookNotFound = (id: WebhookId) =>
  new NotFound({ error: `Webhook ${id} does not exist`, code: "WEBHOOK_NOT_FOUND" })

const Name = Schema.NonEmptyString.check(Schema.isMaxCodePoints(1000), isStorable)

const rowEvents = ["INSERT", "UPDATE", "DELETE"] as const
/** Events of accounts of the embedded identity provider. */
const identityEvents = ["identity.created", "identity.updated", "identity.deleted", "identity.signed_in"] as const
/** The place of webhooks for accounts, in place of a table. */
export const identityPlace = { table_schema: "svc", table_name: "identities" } as const

const isOfIdentities = (event: string) => event.startsWith("identity.")

/** One or more, of rows or of accounts; duplicates count once. */
const Events = Schema.Array(Schema.Literals([...rowEvents, ...identityEvents])).check(
  Schema.isMinLength(1),
  Schema.makeFilter(
    (events: ReadonlyArray<string>) =>
      new Set(events.map(isOfIdentities)).size <= 1 || "Expected events of rows, or events of accounts, not both"
  )
)

/** Whether a place is that of webhooks for accounts. */
export const isIdentityPlace = (place: { readonly table_schema: string; readonly table_name: string }): boolean =>
  place.table_schema === identityPlace.table_schema && place.table_name === identityPlace.table_name

/** Whether a webhook with these events is one for accounts; 400 if its place doesn't fit. */
export const isIdentityWebhook = ({
  events,
  table_name,
  table_schema
}: {
  readonly events: ReadonlyArray<string>
  readonly table_schema?: string
  readonly table_name?: string
}): Effect.Effect<boolean, InvalidRequest> => {
  const named = table_schema !== undefined && table_name !== undefined && isIdentityPlace({ table_schema, table_name })
  const ofIdentities = events.some(isOfIdentities)
  if (ofIdentities ? named || (table_schema === undefined && table_name === undefined) : !named)
    return Effect.succeed(ofIdentities)
  return Effect.fail(
    new InvalidRequest({
      error: ofIdentities
        ? "A webhook with events of accounts has no table: leave out table_schema and table_name"
        : `A webhook of accounts can have these events only: ${identityEvents.join(", ")}`
    })
  )
}

const httpUrl = (text: string) => {
  const url = URL.canParse(text) && !/\s/.test(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) return "Expected an absolute http or https URL"
  return (url.username === "" && url.password === "") || "Expected no user or password in the URL; use headers"
}

/** Absolute http or https URL without user, password or white space, at most 2,048 characters. */
export const TargetUrl = Schema.String.check(Schema.isMaxCodePoints(2048), isStorable, Schema.makeFilter(httpUrl))

/** Such a URL, or `function://<name>` for a function of the service (docs/functions.md). */
const ReceiverUrl = Schema.String.check(
  Schema.isMaxCodePoints(2048),
  isStorable,
  Schema.makeFilter((text: string) => functionOfUrl(text) !== undefined || httpUrl(text))
)

/** Custom headers of every delivery; see `headerProblems`. */
export const CustomHeaders = Schema.Record(Schema.String, Schema.String).check(
  Schema.makeFilter((headers: Readonly<Record<string, string>>) =>
    headerProblems(headers).map(({ name, problem }) => ({ path: name === "" ? [] : [name], issue: problem }))
  )
)

/** 1–1,024 characters; null: deliveries are not signed. Never returned. */
export const SigningSecret = Schema.NullOr(
  Schema.NonEmptyString.check(
    Schema.isMaxCodePoints(1024),
    isStorable,
    Schema.makeFilter((text: string) => isSecret(text) || "Expected Base64 after whsec_")
  )
)

/** The form of bodies about rows: this service's own, or that of Supabase's database webhooks. */
const Format = Schema.Literals(["svc", "supabase"])

/** Optional fields that clients may set (spec: Webhook). */
const settable = {
  name: Schema.optionalKey(Label),
  table_schema: Schema.optionalKey(Name),
  headers: Schema.optionalKey(CustomHeaders),
  secret: Schema.optionalKey(SigningSecret),
  format: Schema.optionalKey(Format),
  active: Schema.optionalKey(Schema.Boolean)
}

export const NewWebhook = Schema.Struct({
  ...settable,
  /** The name of the table; omitted for events of accounts. */
  table_name: Schema.optionalKey(Name),
  events: Events,
  url: ReceiverUrl
}).check(
  Schema.makeFilter(
    ({ events, table_name }: { readonly events: ReadonlyArray<string>; readonly table_name?: string }) =>
      table_name !== undefined || events.every(isOfIdentities) || { path: ["table_name"], issue: "Missing key" }
  )
)
export type NewWebhook = typeof NewWebhook.Type

export const WebhookChange = Schema.Struct({
  ...settable,
  table_name: Schema.optionalKey(Name),
  events: Schema.optionalKey(Events),
  url: Schema.optionalKey(ReceiverUrl)
})
export type WebhookChange = typeof WebhookChange.Type

/** A webhook as returned by the API. Timestamps are ISO 8601 in UTC with milliseconds. */
export const Webhook = Schema.Struct({
  id: WebhookId,
  name: Schema.String,
  table_schema: Schema.String,
  table_name: Schema.String,
  events: Schema.Array(Schema.String),
  url: Schema.String,
  headers: Schema.Record(Schema.String, Schema.String),
  /** Whether deliveries are signed. */
  has_secret: Schema.Boolean,
  format: Format,
  active: Schema.Boolean,
  /** Consecutive failed attempts. */
  fail_count: Schema.Int,
  /** The time at which, and the reason why, the service set `active` to false. */
  disabled_at: Schema.NullOr(Schema.String),
  disabled_reason: Schema.NullOr(Schema.String),
  /** Whether a table of this name exists. */
  table_exists: Schema.Boolean,
  /** Messages that are not delivered yet; more than 10,000 are not counted. */
  waiting: Schema.Int,
  /** The newest attempt in the log. */
  last_attempt: Schema.NullOr(
    Schema.Struct({
      status_code: Schema.NullOr(Schema.Int),
      error: Schema.NullOr(Schema.String),
      latency_ms: Schema.Int,
      created_at: Schema.String
    })
  ),
  /** The reason why deliveries to this URL will be refused; absent if there is none. */
  warning: Schema.optionalKey(Schema.String),
  created_at: Schema.String,
  updated_at: Schema.String
})
export type Webhook = typeof Webhook.Type

/** The outcome by which attempts are listed: the receiver answered with 2xx, or not. */
export const WebhookOutcome = Schema.Literals(["succeeded", "failed"])
export type WebhookOutcome = typeof WebhookOutcome.Type

/** Whether a URL names this machine or an address that is not public, without a look-up. */
const isPrivate = (url: string): boolean => {
  const hostname = URL.canParse(url) ? new URL(url).hostname.replace(/^\[|\]$/g, "") : ""
  return /(?:^|\.)localhost\.?$/.test(hostname) || (isIP(hostname) !== 0 && !isPublicAddress(hostname))
}

/** The webhook with a warning if its receiver has a private address, and those are refused. */
export const warned = (webhook: Webhook, allowPrivate: boolean): Webhook =>
  allowPrivate || !isPrivate(webhook.url)
    ? webhook
    : {
        ...webhook,
        warning:
          "Deliveries to this URL are refused, because its host is not on the public Internet; WEBHOOK_ALLOW_PRIVATE=true allows them"
      }

/** The result of a test or replay. */
export const WebhookAttempt = Schema.Struct({
  /** Null when the receiver did not respond; `error` has the reason. */
  status_code: Schema.NullOr(Schema.Int),
  /** Empty when it did not respond. */
  response_body: Schema.String,
  latency_ms: Schema.Int,
  log_id: Schema.Int,
  error: Schema.NullOr(Schema.String)
})
export type WebhookAttempt = typeof WebhookAttempt.Type

/** A delivery log entry (spec: Webhook delivery log entry). */
export const WebhookLog = Schema.Struct({
  id: Schema.Int,
  webhook_id: WebhookId,
  event_type: Schema.Literals([...rowEvents, ...identityEvents, "TEST"]),
  /** The payload that was sent, with exact numbers; null when it was too large to send. */
  payload: Schema.Unknown,
  status_code: Schema.NullOr(Schema.Int),
  response_body: Schema.String,
  error: Schema.NullOr(Schema.String),
  latency_ms: Schema.Int,
  /** The number of the attempt, from 1. */
  attempt: Schema.Int,
  /** The header `webhook-id`. */
  message_id: Schema.String,
  created_at: Schema.String
})
