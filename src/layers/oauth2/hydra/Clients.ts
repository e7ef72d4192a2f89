import { randomBytes } from "node:crypto"
import { Effect } from "effect"
import { Conflict, InvalidRequest, NotFound } from "../../../domain/errors.ts"
import { isId, isPathId, isStorableJson, oneLine } from "../../../domain/oauth2/Text.ts"
import { type JsonObject, isJsonObject } from "../../../domain/text/JsonObject.ts"
import { type OAuth2 } from "../../../services/ports/OAuth2.ts"
import { type Hydra, type HydraRefusal, type Meaning } from "./Calls.ts"
import { type Reader, readClient, readClientAndSecret, readClients } from "./Replies.ts"

type Port = OAuth2["Service"]

const clientsPath = "/admin/clients"

const unknown = new NotFound({ error: "No such client", code: "CLIENT_NOT_FOUND" })
const badPage = new InvalidRequest({ error: "page_token is invalid", code: "INVALID_PAGE_TOKEN" })
const badText = new InvalidRequest({
  error: "The client contains text that can't be stored, is nested too deeply, or its metadata is not an object",
  code: "INVALID_CLIENT"
})

/** A 404 of the server itself; without its body the response is from something else at that address. */
const noSuchClient: Meaning<NotFound> = ({ error, status }) => (status === 404 && error !== "" ? unknown : undefined)

/** Makes a request at the path of a client, if the id is a possible one. */
const knownClient = <A, E>(
  id: string,
  request: (path: string) => Effect.Effect<A, E>
): Effect.Effect<A, E | NotFound> =>
  // Unpaired surrogates can't be percent-encoded.
  isPathId(id) ? request(`${clientsPath}/${encodeURIComponent(id)}`) : Effect.fail(unknown)

/** Problems with a client's fields (RFC 7591 3.2.2), as the server describes them. */
const badFields: Meaning<InvalidRequest> = ({ description, error, status }) => {
  if (status !== 400 || error === "") return undefined
  const why = oneLine(description).slice(0, 500)
  return new InvalidRequest({
    error: `The OAuth 2.0 server rejected this client${why === "" ? "" : `: ${why}`}`,
    code: "INVALID_CLIENT"
  })
}

const taken = ({ status }: HydraRefusal) =>
  status === 409 ? new Conflict({ error: "A client with this id already exists", code: "CLIENT_EXISTS" }) : undefined

/** The registered clients. */
export const hydraClientsOn = ({ call, send }: Hydra) => {
  const clients: Port["clients"] = ({ pageSize, pageToken }) => {
    if (pageToken !== undefined && !isId(pageToken)) return Effect.fail(badPage)
    const query = { page_size: String(pageSize), ...(pageToken === undefined ? {} : { page_token: pageToken }) }
    const page = call({ method: "GET", path: clientsPath, query }, readClients, ({ error, status }) =>
      status === 400 && error !== "" && pageToken !== undefined ? badPage : undefined
    )
    return Effect.map(page, ({ next, value }) => ({ clients: value, next }))
  }

  const client: Port["client"] = (id) =>
    knownClient(id, (path) => Effect.map(call({ method: "GET", path }, readClient, noSuchClient), ({ value }) => value))

  const createClient: Port["createClient"] = (fields) =>
    isStorableJson(fields) && isJsonObject(fields["metadata"] ?? {})
      ? Effect.map(
          call(
            { method: "POST", path: clientsPath, body: fields },
            readClientAndSecret,
            (refusal) => taken(refusal) ?? badFields(refusal)
          ),
          ({ value }) => value
        )
      : Effect.fail(badText)

  const removeClient: Port["removeClient"] = (id) =>
    knownClient(id, (path) => send({ method: "DELETE", path }, noSuchClient))

  return { clients, client, createClient, removeClient }
}

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
