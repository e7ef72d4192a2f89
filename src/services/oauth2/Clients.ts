import { Context, Effect, Layer } from "effect"
import { type Conflict, InvalidRequest, type NotFound } from "../../domain/errors.ts"
import { type JsonObject } from "../../domain/text/JsonObject.ts"
import { type OAuth2Client } from "../../domain/oauth2/OAuth2.ts"
import { clientProblems, mergeProblems, metadataProblems } from "../../domain/oauth2/ClientRules.ts"
import { OAuth2, type OAuth2Trouble } from "../ports/OAuth2.ts"

/** A client and, this once, its secret; without one it is a public client. */
export interface ClientWithSecret {
  readonly client: OAuth2Client
  readonly secret: string | null
}

/** Clients of the OAuth 2.0 server. */
export class OAuth2Clients extends Context.Service<
  OAuth2Clients,
  {
    readonly list: (page: {
      readonly pageSize: number
      readonly pageToken?: string
    }) => Effect.Effect<
      { readonly clients: ReadonlyArray<OAuth2Client>; readonly next: string | null },
      OAuth2Trouble | InvalidRequest
    >
    readonly find: (id: string) => Effect.Effect<OAuth2Client, OAuth2Trouble | NotFound>
    readonly create: (fields: JsonObject) => Effect.Effect<ClientWithSecret, OAuth2Trouble | InvalidRequest | Conflict>
    /** Sets the names that are given, removes those that are null, leaves the others. */
    readonly merge: (
      id: string,
      metadata: JsonObject
    ) => Effect.Effect<OAuth2Client, OAuth2Trouble | NotFound | InvalidRequest>
    readonly remove: (id: string) => Effect.Effect<void, OAuth2Trouble | NotFound>
    readonly rotateSecret: (id: string) => Effect.Effect<ClientWithSecret, OAuth2Trouble | NotFound | InvalidRequest>
  }
>()("svc/services/OAuth2Clients") {
  static readonly layer = Layer.effect(
    OAuth2Clients,
    Effect.gen(function* () {
      const oauth2 = yield* OAuth2

      const sound = (details: ReadonlyArray<string>) =>
        details.length === 0 ? Effect.void : Effect.fail(new InvalidRequest({ error: "Invalid client", details }))

      return OAuth2Clients.of({
        list: oauth2.clients,
        find: oauth2.client,
        create: (fields) => Effect.andThen(sound(clientProblems(fields)), oauth2.createClient(fields)),
        merge: Effect.fn("OAuth2Clients.merge")(function* (id, metadata) {
          yield* sound(metadataProblems(metadata))
          yield* sound(mergeProblems(yield* oauth2.client(id), metadata))
          return yield* oauth2.mergeClientMetadata(id, metadata)
        }),
        remove: oauth2.removeClient,
        rotateSecret: oauth2.rotateSecret
      })
    })
  )
}
