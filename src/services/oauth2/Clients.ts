import { Effect } from "effect"
import { InvalidRequest } from "../../domain/errors.ts"
import { clientProblems, mergeProblems, metadataProblems, withDefaults } from "../../domain/oauth2/ClientRules.ts"
import { type JsonObject } from "../../domain/text/JsonObject.ts"
import { type OAuth2 } from "../ports/OAuth2.ts"

type Port = OAuth2["Service"]

const check = (details: ReadonlyArray<string>) =>
  details.length === 0 ? Effect.void : Effect.fail(new InvalidRequest({ error: "Invalid client", details }))

/** Registers a client, after checking its fields. */
export const createClient = (oauth2: Port, fields: JsonObject) =>
  Effect.andThen(check(clientProblems(fields)), oauth2.createClient(withDefaults(fields)))

/** Replaces the given fields; of the metadata, sets the given names, removes those that are null and leaves the others. */
export const changeClient = Effect.fn("OAuth2Clients.change")(function* (
  oauth2: Port,
  id: string,
  { metadata = {}, ...fields }: { readonly metadata?: JsonObject } & JsonObject
) {
  yield* check([...clientProblems(fields), ...metadataProblems(metadata)])
  yield* check(mergeProblems(yield* oauth2.client(id), metadata, fields))
  return yield* oauth2.mergeClientMetadata(id, metadata, fields)
})
