import { Effect } from "effect"
import { shownClient } from "../../domain/audit/Shown.ts"
import { InvalidRequest } from "../../domain/errors.ts"
import { clientProblems, mergeProblems, metadataProblems, withDefaults } from "../../domain/oauth2/ClientRules.ts"
import { type JsonObject } from "../../domain/text/JsonObject.ts"
import { describeChange } from "../audit/Change.ts"
import { type OAuth2 } from "../ports/OAuth2.ts"

type Port = OAuth2["Service"]

const check = (details: ReadonlyArray<string>) =>
  details.length === 0 ? Effect.void : Effect.fail(new InvalidRequest({ error: "Invalid client", details }))

const subjectOf = (id: string) => `client:${id}`

/** Registers a client, after checking its fields. */
export const createClient = Effect.fn("OAuth2Clients.create")(function* (oauth2: Port, fields: JsonObject) {
  yield* check(clientProblems(fields))
  const created = yield* oauth2.createClient(withDefaults(fields))
  yield* describeChange({ subject: subjectOf(created.client.client_id), after: shownClient(created.client) })
  return created
})

/** Replaces the given fields; of the metadata, sets the given names, removes those that are null and leaves the others. */
export const changeClient = Effect.fn("OAuth2Clients.change")(function* (
  oauth2: Port,
  id: string,
  { metadata = {}, ...fields }: { readonly metadata?: JsonObject } & JsonObject
) {
  const before = yield* oauth2.client(id)
  yield* check([...clientProblems(fields), ...metadataProblems(metadata)])
  yield* check(mergeProblems(before, metadata, fields))
  const client = yield* oauth2.mergeClientMetadata(id, metadata, fields)
  yield* describeChange({ subject: subjectOf(id), before: shownClient(before), after: shownClient(client) })
  return client
})

export const removeClient = Effect.fn("OAuth2Clients.remove")(function* (oauth2: Port, id: string) {
  const before = yield* oauth2.client(id)
  yield* oauth2.removeClient(id)
  yield* describeChange({ subject: subjectOf(id), before: shownClient(before) })
})

export const rotateClientSecret = (oauth2: Port, id: string) =>
  Effect.andThen(describeChange({ subject: subjectOf(id) }), oauth2.rotateSecret(id))
