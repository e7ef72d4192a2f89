import { Schema } from "effect"

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))
const Millis = Schema.NullOr(Schema.Finite)

/** A request that was answered. Neither its query, its headers nor its body are kept. */
export const LoggedRequest = Schema.Struct({
  /** The time of arrival. */
  at: Schema.String,
  request_id: Schema.String,
  method: Schema.String,
  /** The path without its query, at most 200 characters; API keys in it are masked. */
  path: Schema.String,
  /** The path's template, such as `/v1/db/{table}`; null if it has no route. */
  route: Schema.NullOr(Schema.String),
  /** 499: the client disconnected before the response. 101: a WebSocket that has ended. */
  status: Schema.Int,
  /** The code of an error. */
  code: Schema.NullOr(Schema.String),
  /** The time until the response began; for a WebSocket, how long it was open. */
  milliseconds: Schema.Finite,
  /** The length of the body; null if the response was streamed. */
  bytes: Schema.NullOr(Schema.Int),
  key: Schema.NullOr(Schema.Struct({ id: Schema.Int, label: Schema.String })),
  /** The identity of an administrator's session. */
  identity: Schema.NullOr(Schema.String),
  /** Sent by a page of the dashboard. */
  dashboard: Schema.Boolean
})
export type LoggedRequest = typeof LoggedRequest.Type

const integer = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

const common = {
  method: Schema.optionalKey(Schema.String),
  /** The template of the path, exactly. */
  route: Schema.optionalKey(Schema.String),
  /** `false` leaves out what pages of the dashboard sent. */
  dashboard: Schema.optionalKey(Schema.Literals(["true", "false"]))
}

export const RequestQuery = Schema.Struct({
  ...common,
  /** A status or a class of them: `404`, `5xx`. */
  status: Schema.optionalKey(Schema.String.check(Schema.isPattern(/^[1-5](?:\d\d|xx)$/))),
  /** A part of the path. */
  path: Schema.optionalKey(Schema.String),
  request_id: Schema.optionalKey(Schema.String),
  /** The id of an API key. */
  key: Schema.optionalKey(integer(1, 2_147_483_647)),
  /** Minimum duration in ms. */
  slower_than: Schema.optionalKey(integer(0, 86_400_000)),
  limit: Schema.optionalKey(integer(1, 1000))
})
export type RequestQuery = typeof RequestQuery.Type

export const MinutesQuery = Schema.Struct(common)
export type MinutesQuery = typeof MinutesQuery.Type

/** Processes of this service that were asked and answered: the workers, or 1. */
const processes = { processes: Count }

export const RequestList = Schema.Struct({ ...processes, requests: Schema.Array(LoggedRequest) })
export type RequestList = typeof RequestList.Type

const outcomes = {
  requests: Count,
  /** Responses with a status from 400 to 499. */
  refused: Count,
  /** Responses with a status from 500. */
  errors: Count
}

const counts = {
  ...outcomes,
  bytes: Count,
  /** Half, and 95%, of the responses began within so many ms, to 15%; null without any. */
  p50: Millis,
  p95: Millis,
  statuses: Schema.Record(Schema.String, Count)
}

export const RequestCounts = Schema.Struct({
  ...processes,
  /** The last 60 minutes, the oldest first, the current one last. */
  minutes: Schema.Array(Schema.Struct({ minute: Schema.String, ...counts })),
  /** The counts of the same time by route, the most requested first. */
  routes: Schema.Array(Schema.Struct({ method: Schema.String, route: Schema.NullOr(Schema.String), ...counts }))
})
export type RequestCounts = typeof RequestCounts.Type

export const KeyCounts = Schema.Struct({ key_id: Schema.Int, ...outcomes })
export type KeyCounts = typeof KeyCounts.Type

/** The last 60 minutes by API key, without those that sent nothing; the most requested first. */
export const RequestKeys = Schema.Struct({ ...processes, keys: Schema.Array(KeyCounts) })
export type RequestKeys = typeof RequestKeys.Type
