import { Effect } from "effect"
import { randomBytes } from "node:crypto"
import { InvalidRequest } from "../../../domain/errors.ts"
import { isJsonObject, type JsonObject } from "../../../domain/text/JsonObject.ts"
import { type OAuth2 } from "../../../services/ports/OAuth2.ts"
import { type Hydra } from "./Calls.ts"
import { badFields, knownClient, noSuchClient } from "./Clients.ts"
import { readClient, readClientAndSecret, type Reader } from "./Replies.ts"
import { isStorableJson } from "../../../domain/oauth2/Text.ts"

type Port = OAuth2["Service"]

/** RFC 6902; the server only accepts these operations. */
type Operation =
  | { readonly op: "add"; readonly path: string; readonly value: unknown }
  | { readonly op: "remove"; readonly path: string }

const badMetadata = new InvalidRequest({
  error: "The change contains text that can't be stored, or is nested too deeply",
  code: "INVALID_CLIENT"
})
const secretless = new InvalidRequest({ error: "This client has no secret", code: "CLIENT_WITHOUT_SECRET" })

/** The authentication methods of clients without a secret. */
const secretlessMethods = new Set(["none", "private_key_jwt"])

/** Escapes `~` and `/` in a step of a path (RFC 6901). */
const step = (name: string) => name.replaceAll("~", "~0").replaceAll("/", "~1")

/** The fields of a client that change. */
interface Wanted {
  readonly metadata: JsonObject
  readonly fields: JsonObject
}

/** The operations that change `stored` metadata and set fields; the server rejects the removal of a missing name. */
const operations = (stored: JsonObject, { fields, metadata }: Wanted): ReadonlyArray<Operation> => [
  ...Object.entries(metadata).flatMap(([name, value]): ReadonlyArray<Operation> => {
    const path = `/metadata/${step(name)}`
    if (value !== null) return [{ op: "add", path, value }]
    return Object.hasOwn(stored, name) ? [{ op: "remove", path }] : []
  }),
  ...Object.entries(fields).map(([name, value]): Operation => ({ op: "add", path: `/${step(name)}`, value }))
]

/** Changes of single fields of a client. */
export const clientChangesOn = ({ call }: Hydra, client: Port["client"]) => {
  const patchAs =
    <A>(read: Reader<A>) =>
    (id: string, body: ReadonlyArray<Operation>) =>
      knownClient(id, (path) =>
        Effect.map(
          call({ method: "PATCH", path, body }, read, (refusal) => noSuchClient(refusal) ?? badFields(refusal)),
          ({ value }) => value
        )
      )
  const patch = patchAs(readClient)
  const patchSecret = patchAs(readClientAndSecret)

  const merge = Effect.fn("OAuth2.mergeClientMetadata")(function* (id: string, wanted: Wanted) {
    const before = yield* client(id)
    const todo = operations(before.metadata, wanted)
    if (todo.length === 0) return before
    if (todo.every(({ op }) => op === "add")) return yield* patch(id, todo)
    return yield* Effect.catchTag(patch(id, todo), "BadGateway", (error) =>
      // Another request may have removed the same name; the server then applies nothing of the patch.
      Effect.gen(function* () {
        const now = yield* client(id)
        const left = operations(now.metadata, wanted)
        if (left.length === todo.length) return yield* error
        return left.length === 0 ? now : yield* patch(id, left)
      })
    )
  })

  const mergeClientMetadata: Port["mergeClientMetadata"] = (id, metadata, fields = {}) =>
    isJsonObject(metadata) && isStorableJson(metadata) && isStorableJson(fields)
      ? merge(id, { metadata, fields })
      : Effect.fail(badMetadata)

  const rotateSecret: Port["rotateSecret"] = Effect.fn("OAuth2.rotateSecret")(function* (id) {
    const before = yield* client(id)
    if (secretlessMethods.has(before.token_endpoint_auth_method)) return yield* secretless
    const secret = randomBytes(32).toString("base64url")
    const { client: now } = yield* patchSecret(id, [{ op: "add", path: "/client_secret", value: secret }])
    return { client: now, secret }
  })

  return { mergeClientMetadata, rotateSecret }
}
